# Places: freedesktop.org, "Desktop Application Autostart Specification".
[Application]
Id=autostart
Name=Programs that start at login

[Data]
entries=config/autostart;
