# Places: ~/.local/share/TelegramDesktop, or the Flatpak's data folder; tdata has the session's
# keys.
[Application]
Id=org.telegram.desktop
Name=Telegram
Packages=telegram-desktop;
Programs=telegram-desktop;Telegram;
Secret=yes
Identity=yes

[Data]
data=data/TelegramDesktop;flatpak/org.telegram.desktop/data/TelegramDesktop;

[Exclude]
Patterns=/log*.txt;user_data/;

[Running]
Processes=telegram-desktop;Telegram;
