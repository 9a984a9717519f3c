# Places: flathub/org.signal.Signal and config.json there; two copies of one identity lose
# messages: signalapp/Signal-Desktop#7083 and #6948.
[Application]
Id=org.signal.Signal
Name=Signal
Packages=signal-desktop;
Programs=signal-desktop;
Secret=yes
Identity=yes
Needs=gnome-keyring;kwallet;

[Data]
profile=config/Signal;flatpak/org.signal.Signal/config/Signal;

[Exclude]
Patterns=/SingletonCookie;/SingletonSocket;/Cache/;/Code Cache/;/GPUCache/;/logs/;

[Running]
Processes=signal-desktop;
Locks=SingletonLock;
