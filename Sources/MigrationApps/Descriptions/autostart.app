# Places: freedesktop.org, "Desktop Application Autostart Specification".
[Application]
Id=autostart
Name=Programs that start at login
Runs=yes

[Data]
entries=config/autostart;
