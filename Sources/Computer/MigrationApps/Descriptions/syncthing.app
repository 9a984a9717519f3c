# Places: syncthing-config(5): the state folder since 1.27.0, the configuration folder before.
# cert.pem and key.pem are the device's identity.
[Application]
Id=syncthing
Name=Syncthing
Packages=syncthing;
Programs=syncthing;
Secret=yes
Identity=yes

[Data]
folder=state/syncthing;config/syncthing;

[Exclude]
Patterns=/index-*/;

[Running]
Processes=syncthing;
Locks=syncthing.lock;
