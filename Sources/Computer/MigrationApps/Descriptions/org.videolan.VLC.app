# Places: wiki.videolan.org/Configuration and vlc(1), FILES.
[Application]
Id=org.videolan.VLC
Name=VLC
Packages=vlc;
Programs=vlc;

[Data]
settings=config/vlc;flatpak/org.videolan.VLC/config/vlc;
library=data/vlc;flatpak/org.videolan.VLC/data/vlc;

[Running]
Processes=vlc;
