# Places: the KeePassXC user guide, "Configuration file". The databases are the user's own files
# and not named here.
[Application]
Id=org.keepassxc.KeePassXC
Name=KeePassXC
Packages=keepassxc;
Programs=keepassxc;

[Data]
settings=config/keepassxc;flatpak/org.keepassxc.KeePassXC/config/keepassxc;

[Exclude]
Patterns=*.socket;

[Running]
Processes=keepassxc;
