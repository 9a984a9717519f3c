# Places: chromium.googlesource.com, docs/user_data_dir.md. Cookies and passwords may be encrypted
# with a key in the desktop's keyring: move that too.
[Application]
Id=com.google.Chrome
Name=Google Chrome
Packages=google-chrome-stable;
Programs=google-chrome;google-chrome-stable;
Secret=yes
Needs=gnome-keyring;kwallet;

[Data]
profile=config/google-chrome;flatpak/com.google.Chrome/config/google-chrome;

[Exclude]
Patterns=/SingletonCookie;/SingletonSocket;/Crash Reports/;Cache/;Code Cache/;GPUCache/;ShaderCache/;GrShaderCache/;

[Running]
Processes=chrome;
Locks=SingletonLock;

[Version]
File=profile/Last Version
