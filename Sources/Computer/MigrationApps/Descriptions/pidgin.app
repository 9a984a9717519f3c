# Places: pidgin(1), FILES. accounts.xml has passwords.
[Application]
Id=pidgin
Name=Pidgin
Packages=pidgin;
Programs=pidgin;
Secret=yes

[Data]
home=home/.purple;

[Running]
Processes=pidgin;
