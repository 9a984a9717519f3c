import MigrationSystem
import TestSupport
import Testing

@testable import MigrationApps

@Suite struct HomeFoldersTests {
  private func read(_ text: String, home: String = "/home/anna") -> [HomeFolder: String?] {
    HomeFolders.read(Array(text.utf8), home: Array(home.utf8))
      .mapValues { $0.map { String(decoding: $0, as: UTF8.self) } }
  }

  @Test func `places are read as the shell would read them`() {
    let places = read(
      """
      # written by a program
      XDG_DESKTOP_DIR="$HOME/Schreibtisch"
      \tXDG_DOCUMENTS_DIR="$HOME/Daten/Meine Dokumente/"
      XDG_DOWNLOAD_DIR="/home/anna/Downloads"
      XDG_MUSIC_DIR="$HOME/Musik"
      XDG_MUSIC_DIR="$HOME/a \\"b\\" \\$c"
      XDG_OTHER_DIR="$HOME/Other"
      """)
    #expect(
      places == [
        .desktop: "Schreibtisch", .documents: "Daten/Meine Dokumente", .downloads: "Downloads", .music: "a \"b\" $c",
      ])
  }

  @Test(arguments: [
    "\"$HOME\"", "\"$HOME/\"", "\"/srv/music\"", "\"/home/anna2/Music\"", "\"$HOME/../eva/Music\"", "\"$HOME/.music\"",
    "\"$HOME/Data/.hidden/Music\"", "\"Music\"", "$HOME/Music", "\"$HOME/Music\\", "", "\"$HOMEMusic\"",
  ])
  func `a place that is the home, outside of it or below a dot name is none`(_ value: String) {
    #expect(read("XDG_MUSIC_DIR=\(value)") == [.music: nil])
  }

  @Test func `a home without a configuration has the folders with the usual names that exist`() throws {
    let scratch = try Scratch()
    for name in ["Documents", "Public", "outside"] { scratch.makeDirectory(name) }
    scratch.makeLink("Pictures", to: "outside")
    scratch.write("Music", "a file")
    let folders = HomeFolders(in: scratch.directory)
    #expect(folders.places == [.documents: Array("Documents".utf8), .public: Array("Public".utf8)])
    #expect(folders.folder(at: Array("Public".utf8)) == .public)
  }

  @Test func `the sender's folders exist, and no two have one place`() throws {
    let scratch = try Scratch()
    scratch.write(
      ".config/user-dirs.dirs",
      """
      XDG_DOCUMENTS_DIR="$HOME/Dokumente"
      XDG_MUSIC_DIR="$HOME/Dokumente"
      XDG_PICTURES_DIR="$HOME/Bilder"
      XDG_VIDEOS_DIR="$HOME"
      """)
    for name in ["Dokumente", "Videos", "Downloads"] { scratch.makeDirectory(name) }
    let folders = HomeFolders(in: scratch.directory)
    #expect(folders.map == ["documents": Array("Dokumente".utf8), "downloads": Array("Downloads".utf8)])
  }

  @Test func `the receiver has a place for every key, the usual one where its home has none`() throws {
    let scratch = try Scratch()
    scratch.write(
      ".config/user-dirs.dirs",
      """
      XDG_DESKTOP_DIR="$HOME"
      XDG_DOCUMENTS_DIR="$HOME/Dokumente"
      XDG_MUSIC_DIR="$HOME/Videos"
      """)
    let map = HomeFolders.receiving(in: scratch.directory).map.mapValues { String(decoding: $0, as: UTF8.self) }
    #expect(
      map == [
        "desktop": "Desktop", "documents": "Dokumente", "downloads": "Downloads", "music": "Videos",
        "pictures": "Pictures", "public": "Public", "templates": "Templates", "videos": "Videos-2",
      ])
  }
}
