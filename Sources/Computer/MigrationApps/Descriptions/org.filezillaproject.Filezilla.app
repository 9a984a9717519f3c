# Places: wiki.filezilla-project.org, "Client configuration". sitemanager.xml has passwords.
[Application]
Id=org.filezillaproject.Filezilla
Name=FileZilla
Packages=filezilla;
Programs=filezilla;
Secret=yes

[Data]
settings=config/filezilla;flatpak/org.filezillaproject.Filezilla/config/filezilla;

[Running]
Processes=filezilla;
Locks=lockfile;
