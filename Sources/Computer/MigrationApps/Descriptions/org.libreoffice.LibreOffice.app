# Places: wiki.documentfoundation.org/UserProfile. A profile may have macros and extensions, which
# LibreOffice runs.
[Application]
Id=org.libreoffice.LibreOffice
Name=LibreOffice
Packages=libreoffice;
Programs=libreoffice;soffice;

[Data]
profile=config/libreoffice/4;flatpak/org.libreoffice.LibreOffice/config/libreoffice/4;

[Exclude]
Patterns=/user/temp/;

[Running]
Processes=soffice.bin;oosplash;
Locks=.lock;
