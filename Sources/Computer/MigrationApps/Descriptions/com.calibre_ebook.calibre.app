# Places: manual.calibre-ebook.com, "Environment variables" and FAQ. The library is the user's own
# folder.
[Application]
Id=com.calibre_ebook.calibre
Name=calibre
Packages=calibre;
Programs=calibre;

[Data]
settings=config/calibre;flatpak/com.calibre_ebook.calibre/config/calibre;

[Exclude]
Patterns=caches/;

[Running]
Processes=calibre;
