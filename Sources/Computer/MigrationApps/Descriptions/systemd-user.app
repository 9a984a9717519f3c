# Places: systemd.unit(5), "User Unit Search Path". Lingering is a setting of the system and does
# not move.
[Application]
Id=systemd-user
Name=Services of the user
Packages=systemd;
Programs=systemctl;

[Data]
units=config/systemd/user;
environment=config/environment.d;
