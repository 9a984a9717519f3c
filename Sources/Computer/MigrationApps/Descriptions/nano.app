# Places: nanorc(5) and nano(1), FILES.
[Application]
Id=nano
Name=nano
Packages=nano;
Programs=nano;

[Data]
rc=home/.nanorc;
settings=config/nano;
data=data/nano;

[Start]
Files=data/search_history;
