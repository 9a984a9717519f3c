# Places: chromium.googlesource.com, docs/user_data_dir.md; SingletonLock names host and process,
# so it stays behind. Cookies and passwords may be encrypted with a key in the desktop's keyring:
# move that too.
[Application]
Id=org.chromium.Chromium
Name=Chromium
Packages=chromium;
Programs=chromium;chromium-browser;
Secret=yes
Needs=gnome-keyring;kwallet;

[Data]
profile=config/chromium;flatpak/org.chromium.Chromium/config/chromium;snap/chromium/common/chromium;

[Exclude]
Patterns=/SingletonCookie;/SingletonSocket;/Crash Reports/;Cache/;Code Cache/;GPUCache/;ShaderCache/;GrShaderCache/;

[Running]
Processes=chromium;chromium-browse;
Locks=SingletonLock;

[Version]
File=profile/Last Version
