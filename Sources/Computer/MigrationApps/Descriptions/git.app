# Places: git-config(1), FILES. A configuration can name commands, which Git runs. Passwords in
# config/git/credentials stay behind; those in ~/.git-credentials are an app of their own.
[Application]
Id=git
Name=Git
Packages=git;
Programs=git;

[Data]
rc=home/.gitconfig;
settings=config/git;
ignore=home/.gitignore_global;

[Exclude]
Patterns=/credentials;
