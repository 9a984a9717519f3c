# Places: wiki.archlinux.org/title/KDE_Wallet. A wallet whose password is not the login's asks for
# it.
[Application]
Id=kwallet
Name=KDE Wallet
Packages=kwalletmanager;
Programs=kwalletd5;kwalletd6;
Secret=yes

[Data]
wallets=data/kwalletd;
settings=config/kwalletrc;
