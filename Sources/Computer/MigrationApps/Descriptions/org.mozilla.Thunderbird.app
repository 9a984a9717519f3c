# Places: support.mozilla.org, "Profiles - Where Thunderbird stores your messages and other user
# data".
[Application]
Id=org.mozilla.Thunderbird
Name=Thunderbird
Packages=thunderbird;
Programs=thunderbird;
Secret=yes

[Data]
profile=home/.thunderbird;flatpak/org.mozilla.Thunderbird/.thunderbird;snap/thunderbird/common/.thunderbird;

[Exclude]
Patterns=/*/cache2/;/*/startupCache/;/Crash Reports/;

[Running]
Processes=thunderbird;thunderbird-bin;
Locks=*/lock;*/.parentlock;

[Version]
File=profile/*/compatibility.ini
Key=LastVersion
