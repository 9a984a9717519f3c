# Places: userbase.kde.org/KDEConnect; certificate and private key are the device's identity:
# vikdevelop/SaveDesktop#533.
[Application]
Id=kdeconnect
Name=KDE Connect
Packages=kdeconnect;
Programs=kdeconnect-cli;kdeconnect-app;
Secret=yes
Identity=yes

[Data]
settings=config/kdeconnect;

[Running]
Processes=kdeconnectd;
