# Places: wiki.archlinux.org/title/GNOME/Keyring. A keyring whose password is not the login's asks
# for it; log out and in again before you use it.
[Application]
Id=gnome-keyring
Name=Passwords and Keys
Packages=gnome-keyring;
Programs=gnome-keyring-daemon;gnome-keyring;
Secret=yes

[Data]
keyrings=data/keyrings;
