# Places: git-credential-store(1), FILES.
[Application]
Id=git-credentials
Name=Git passwords
Packages=git;
Programs=git;
Secret=yes

[Data]
home=home/.git-credentials;
