# Places: htop(1), CONFIG FILE.
[Application]
Id=htop
Name=htop
Packages=htop;
Programs=htop;

[Data]
settings=config/htop;
