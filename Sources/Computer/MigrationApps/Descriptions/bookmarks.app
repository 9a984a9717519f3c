# Places: GTK's "Bookmarks" in GtkFileChooser's and GtkBookmarksManager's documentation, and KDE's
# KFilePlacesModel. They hold file:// addresses of folders of the home: linuxmint/nemo#1947.
[Application]
Id=bookmarks
Name=Bookmarks of file managers

[Data]
gtk=config/gtk-3.0/bookmarks;
older=home/.gtk-bookmarks;
kde=data/user-places.xbel;

[Home]
Files=gtk;older;kde;
