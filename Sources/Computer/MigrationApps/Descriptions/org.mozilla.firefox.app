# Places: support.mozilla.org, "Profiles - Where Firefox stores your bookmarks, passwords and other
# user data"; where ~/.mozilla exists it wins over ~/.config/mozilla: Mozilla's tests of its
# toolkit. key4.db and logins.json have the passwords, so that the whole profile is a secret. An
# older Firefox refuses a profile that a newer one has used, as compatibility.ini records:
# flathub/io.gitlab.librewolf-community#30.
[Application]
Id=org.mozilla.firefox
Name=Firefox
Packages=firefox-esr;firefox;
Programs=firefox;firefox-esr;
Secret=yes

[Data]
profile=home/.mozilla/firefox;config/mozilla/firefox;flatpak/org.mozilla.firefox/.mozilla/firefox;snap/firefox/common/.mozilla/firefox;

[Exclude]
Patterns=/*/cache2/;/*/startupCache/;/Crash Reports/;

[Running]
Processes=firefox;firefox-esr;firefox-bin;
Locks=*/lock;*/.parentlock;

[Version]
File=profile/*/compatibility.ini
Key=LastVersion
