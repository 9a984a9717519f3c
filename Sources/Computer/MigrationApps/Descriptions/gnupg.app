# Places: gpg(1), FILES, and gpg-agent(1), FILES. Sockets and locks are of this computer's
# processes; random_seed is the state of its random numbers.
[Application]
Id=gnupg
Name=GnuPG
Packages=gnupg;
Programs=gpg;
Secret=yes

[Data]
home=home/.gnupg;

[Exclude]
Patterns=S.*;*.lock;.#lk*;/random_seed;
