# Places: docs.krita.org, "Krita FAQ", on resetting the configuration, and "Resource Management".
[Application]
Id=org.kde.krita
Name=Krita
Packages=krita;
Programs=krita;

[Data]
settings=config/kritarc;flatpak/org.kde.krita/config/kritarc;
display=config/kritadisplayrc;flatpak/org.kde.krita/config/kritadisplayrc;
resources=data/krita;flatpak/org.kde.krita/data/krita;

[Exclude]
Patterns=krita.log;krita-sysinfo.log;

[Running]
Processes=krita;
