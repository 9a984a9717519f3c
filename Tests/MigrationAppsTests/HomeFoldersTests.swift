import Expectations
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
    expect(
      places,
      is: [
        .desktop: "Schreibtisch", .documents: "Daten/Meine Dokumente", .downloads: "Downloads", .music: "a \"b\" $c",
      ])
  }

  @Test(arguments: [
    "\"$HOME\"", "\"$HOME/\"", "\"/home/anna\"", "\"/\"", "\"/srv/../music\"", "\"$HOME/../eva/Music\"",
    "\"$HOME/.music\"",
    "\"$HOME/Data/.hidden/Music\"", "\"Music\"", "$HOME/Music", "\"$HOME/Music\\", "", "\"$HOMEMusic\"",
  ])
  func `a place that is the home, no path of names or below a dot name is none`(_ value: String) {
    expect(read("XDG_MUSIC_DIR=\(value)"), is: [.music: nil])
  }

  @Test(arguments: ["/srv/music", "/home/anna2/Music"])
  func `a place outside of the home is an absolute path`(_ path: String) {
    expect(read("XDG_MUSIC_DIR=\"\(path)\""), is: [.music: path])
  }

  @Test func `links and places outside are followed to folders that do not contain the home`() throws {
    let (scratch, outside) = (try Scratch(), try Scratch())
    for name in ["home/Cloud/Docs", "home/Videos"] { scratch.makeDirectory(name) }
    for name in ["Photos", "Music"] { outside.makeDirectory(name) }
    scratch.write("home/.config/user-dirs.dirs", "XDG_MUSIC_DIR=\"\(outside.path)/Music\"\n")
    for (link, target) in [
      ("Documents", "Cloud/Docs"), ("Pictures", "\(outside.path)/Photos"), ("Public", "\(outside.path)/Photos"),
      ("Desktop", scratch.path), ("Templates", "nowhere"), ("Downloads", "."),
    ] { scratch.makeLink("home/\(link)", to: target) }
    let home = try Directory.open(scratch.path("home"))
    let folders = HomeFolders(in: home)
    expect(
      folders.map.mapValues { String(decoding: $0, as: UTF8.self) },
      is: [
        "documents": "Documents", "pictures": "Pictures", "music": "Music", "videos": "Videos",
      ])
    expect(
      folders.targets.mapValues { String(decoding: $0, as: UTF8.self) },
      is: [
        .documents: scratch.path("home/Cloud/Docs"), .pictures: "\(outside.path)/Photos",
        .music: "\(outside.path)/Music",
      ])
    expect(HomeFolders(in: home, isElsewhere: true).targets, is: [:], "the links of another computer's home")
    // The receiver uses what is in its home, and the link's own name where nothing of it is.
    let places = HomeFolders.receiving(in: home).map.mapValues { String(decoding: $0, as: UTF8.self) }
    expect(
      ["documents", "pictures", "music", "desktop"].map { places[$0] },
      is: [
        "Cloud/Docs", "Pictures", "Music", "Desktop",
      ]
    )
  }

  @Test func `a home without a configuration has the folders with the usual names that exist`() throws {
    let scratch = try Scratch()
    for name in ["Documents", "Public", "outside"] { scratch.makeDirectory(name) }
    scratch.makeLink("Pictures", to: "nowhere")
    scratch.write("Music", "a file")
    let folders = HomeFolders(in: scratch.directory)
    expect(folders.places, is: [.documents: Array("Documents".utf8), .public: Array("Public".utf8)])
    expect(folders.folder(at: Array("Public".utf8)), is: .public)
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
    expect(folders.map, is: ["documents": Array("Dokumente".utf8), "downloads": Array("Downloads".utf8)])
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
    expect(
      map,
      is: [
        "desktop": "Desktop", "documents": "Dokumente", "downloads": "Downloads", "music": "Videos",
        "pictures": "Pictures", "public": "Public", "templates": "Templates", "videos": "Videos-2",
      ])
  }
}
