import MigrationArchive
package import MigrationSystem
package import MigrationWire

/// The entries of a home that can move, and the items that are left out: names first, then measured sizes.
package struct Inventory: Sendable {
  /// An item, a folder or an app, which moves as one or not at all.
  package struct Entry: Sendable {
    package enum Subject: Equatable, Sendable {
      /// A file, folder or link of the home.
      case item(HomeItem)
      /// A folder of the user that travels by its key.
      case folder(HomeFolder, HomeItem)
      case app(MovableApp)
    }

    package let subject: Subject
    /// Whether programs may run its data in a home.
    package let mayRun: Bool
    /// Whether it moves by default.
    package let isTicked: Bool
    /// The target of a symbolic link. A link that is a folder of the user is followed; any other
    /// link moves itself.
    package let linkTarget: [UInt8]?
    /// Nil until it is measured.
    package fileprivate(set) var size: EntrySize?
    /// The number of its items that cannot be read.
    package fileprivate(set) var unreadable = 0
    /// The most of its bytes that cross to a computer that has the last move; nil if there is none.
    package fileprivate(set) var crossing: UInt64?
    /// Whether anything of it has changed since the last move, as far as it was measured.
    package fileprivate(set) var hasChanged = false
    /// The trees that were found when it was measured, by the names of its roots.
    fileprivate(set) var walked: [[UInt8]: SourceTree] = [:]

    /// The paths that move, relative to the home; empty for an app with an extension.
    package var places: [HomeItem] {
      switch subject {
      case .item(let place), .folder(_, let place): [place]
      case .app(let app): app.places
      }
    }

    /// The app.
    package var app: MovableApp? { if case .app(let app) = subject { app } else { nil } }

    /// The name, not escaped: an app's, or the path relative to the home.
    package var name: [UInt8] { app.map { Array($0.name.utf8) } ?? places[0].path }

    /// Whether a person may call it so, in letters of any size.
    func isCalled(_ name: String) -> Bool {
      !name.isEmpty && String(decoding: self.name, as: UTF8.self).lowercased() == name.lowercased()
        || answers(to: Array(name.utf8))
    }

    /// Whether a name that the user gives is meant for it: its name, an app's identifier, or a
    /// folder's key.
    package func answers(to name: [UInt8]) -> Bool {
      switch subject {
      case .item(let place): place.path == name
      case .folder(let folder, let place): place.path == name || folder.key == name
      case .app(let app): Array(app.identifier.utf8) == name || Array(app.name.utf8) == name
      }
    }
  }

  /// Apps, then entries that move by default (folders of the user first), then entries that move
  /// only if the user says so. The number that a person sees is the position plus one.
  package private(set) var entries: [Entry] = []
  package private(set) var leftOut: [Omission] = []
  /// When the last move of this home to another computer began; of several computers, the earliest.
  package var lastMove: Timestamp?
  /// The paths that belong to one entry, and to no folder above them, sorted.
  private var taken: [[UInt8]] = []
  private let home: SharedDirectory

  /// Lists the names of a home. `records` are the absolute paths of peer's own records, and
  /// `others` are the items that stay behind elsewhere.
  package init(
    of home: SharedDirectory, apps: [MovableApp], records: [[UInt8]] = [], isElsewhere: Bool = false,
    besides others: [Omission] = []
  ) throws(Failure) {
    self.home = home
    let folders = HomeFolders(in: home.directory, isElsewhere: isElsewhere)
    do {
      let base = try home.directory.canonicalPath() + [UInt8(ascii: "/")]
      let own = records.map { (try? Directory.open($0).canonicalPath()) ?? $0 }.filter { $0.starts(with: base) }
        .map { Omission(Array($0.dropFirst(base.count)), .ownRecords) }
      leaveOutKnown(own + Omission.known)
      var items = Items(apps, folders, device: try home.directory.status().device)
      items.known = Set(leftOut.map(\.path))
      try items.list(home.directory)
      leftOut += items.leftOut
      entries = items.entries
    } catch {
      throw Failure(.source, "the home directory cannot be read", cause: error)
    }
    taken = apps.flatMap { $0.places.map(\.path) } + Array(folders.places.values) + leftOut.map(\.path)
    // A folder of the home to which a link leads moves once.
    if let base = try? home.directory.canonicalPath() + [UInt8(ascii: "/")] {
      taken += folders.targets.values.filter { $0.starts(with: base) }.map { Array($0.dropFirst(base.count)) }
    }
    taken.sort { $0.lexicographicallyPrecedes($1) }
    leftOut += others
    leftOut.sort { $0.path.lexicographicallyPrecedes($1.path) }
  }

  /// Leaves out the listed items that exist.
  private mutating func leaveOutKnown(_ list: [Omission]) {
    for item in list {
      let (directory, name) = FileContent.split(item.path)
      let isFree =
        directory == Array(".".utf8)
        ? try? home.directory.isFree(name) : try? home.directory.openDirectoryBeneath(directory).isFree(name)
      if isFree == false { leftOut.append(item) }
    }
  }

  /// Measures the entries in their order, on a thread that may wait for a disk, until the signal is
  /// set. `progress` gets the position of each entry that was measured.
  package mutating func measure(
    until stop: StopSignal, progress: (Int, Inventory) -> Void = { _, _ in },
    only isMeant: (Entry) -> Bool = { _ in true }
  ) throws(Failure) {
    var parents: [[UInt8]: SharedDirectory] = [:]
    for index in entries.indices where !entries[index].places.isEmpty && isMeant(entries[index]) {
      let places = entries[index].places
      let selection = selection(for: places, of: entries[index].app)
      var size = EntrySize(Tally(), allocated: 0)
      var changed: UInt64 = 0
      for place in places {
        do {
          let root = try place.source(in: home, sharing: &parents)
          let tree = try SourceWalk.walk(
            [root], selecting: selection, countingSince: lastMove, isStopped: { stop.isSet })
          changed += tree.changedBytes
          if tree.hasChanged { entries[index].hasChanged = true }
          size = size.adding(EntrySize(tree.total, allocated: tree.allocated))
          entries[index].walked[place.root] = tree
          entries[index].unreadable += tree.unsent.count { $0.reason == .unreadable }
          leftOut += tree.mountPoints.map { Omission(place.path + $0.dropFirst(place.root.count), .otherFileSystem) }
          for path in tree.leftOut where Omission.isTrash(path) {
            leftOut.append(try trash(place.path + path.dropFirst(place.root.count), stop))
          }
        } catch {
          guard error.code != .stopped else { throw error }
          leftOut.append(Omission(place.path, .unreadable(error.cause?.words ?? error.description)))
          entries[index].unreadable += 1
        }
      }
      entries[index].size = size
      if lastMove != nil { entries[index].crossing = entries[index].app == nil ? changed : size.tally.bytes }
      progress(index, self)
    }
    leftOut.sort { $0.path.lexicographicallyPrecedes($1.path) }
  }

  /// The trash of a mounted disk, with its size.
  private func trash(_ path: [UInt8], _ stop: StopSignal) throws(Failure) -> Omission {
    let root = try SourceRoot(path, beneath: home, as: FileContent.split(path).name)
    let tree = try SourceWalk.walk([root], isStopped: { stop.isSet })
    return Omission(path, .trash, size: EntrySize(tree.total, allocated: tree.allocated))
  }

  /// Selects the items of some places that are sent: without other entries' items, an app's caches,
  /// and other file systems. A mark of a cache counts only in an app's data: elsewhere a program
  /// may have put it beside the user's own files.
  func selection(for places: [HomeItem], of app: MovableApp? = nil) -> Selection {
    var selection = Selection()
    selection.isWithoutCaches = app != nil
    selection.isOnOneFileSystem = true
    for pattern in Omission.patterns + (app?.exclusions ?? []) { selection.exclusions.append(pattern) }
    for place in places {
      for path in taken(below: place) { selection.leaveOut(place.root + path.dropFirst(place.path.count)) }
    }
    return selection
  }

  private func taken(below place: HomeItem) -> ArraySlice<[UInt8]> {
    let beginning = place.path + [UInt8(ascii: "/")]
    var (first, end) = (0, taken.count)
    while first < end {
      let middle = (first + end) / 2
      if taken[middle].lexicographicallyPrecedes(beginning) { first = middle + 1 } else { end = middle }
    }
    return taken[first...].prefix { $0.starts(with: beginning) }
  }

  /// The items at the top of a home, as they are listed.
  private struct Items {
    private let apps: [MovableApp]
    private let folders: HomeFolders
    private let device: UInt64
    /// The paths that are left out in every home.
    var known: Set<[UInt8]> = []
    private(set) var leftOut: [Omission] = []
    private var visible: [Inventory.Entry] = []
    private var running: [Inventory.Entry] = []
    private var keyed: [HomeFolder: Inventory.Entry] = [:]

    init(_ apps: [MovableApp], _ folders: HomeFolders, device: UInt64) {
      self.apps = apps
      self.folders = folders
      self.device = device
      for (folder, path) in folders.places {
        let target = folders.targets[folder]
        let place = HomeItem(root: folder.key, path: path, kind: .directory, target: target)
        keyed[folder] = Inventory.Entry(
          subject: .folder(folder, place), mayRun: false, isTicked: true, linkTarget: target)
      }
    }

    /// The entries in order.
    var entries: [Inventory.Entry] {
      let apps = apps.map { app in
        Inventory.Entry(
          subject: .app(app), mayRun: true, isTicked: !app.isIdentity, linkTarget: nil, size: app.size)
      }
      return apps + HomeFolder.allCases.compactMap { keyed[$0] } + Self.sorted(visible) + Self.sorted(running)
    }

    private static func sorted(_ entries: [Inventory.Entry]) -> [Inventory.Entry] {
      entries.sorted { $0.name.lexicographicallyPrecedes($1.name) }
    }

    mutating func list(_ home: borrowing Directory) throws(SystemError) {
      let taken = Set(apps.flatMap { $0.places.map(\.path) })
      let targets = folders.targets.values.map { FileContent.split($0) }
      let path = try home.canonicalPath()
      for name in try home.names()
      where !known.contains(name) && !taken.contains(name) && folders.folder(at: name) == nil
        && !targets.contains(where: { $0.directory == path && $0.name == name })
      {
        do {
          try add(name, try home.status(name), in: home)
        } catch {
          leftOut.append(Omission(name, .unreadable(error.words)))
        }
      }
    }

    private mutating func add(
      _ name: [UInt8], _ status: FileStatus, in home: borrowing Directory
    ) throws(SystemError) {
      if Staging.isName(name) { return leftOut.append(Omission(name, .unfinishedTransfer)) }
      guard let kind = ItemKind(status.kind) else { return leftOut.append(Omission(name, .notSendable)) }
      if status.device != device { return leftOut.append(Omission(name, .otherFileSystem)) }
      let mayRun = ArrivalRule.mayRun(name)
      let entry = Inventory.Entry(
        subject: .item(HomeItem(root: name, path: name, kind: kind)), mayRun: mayRun, isTicked: !mayRun,
        linkTarget: kind == .symbolicLink ? try home.readLink(name) : nil)
      if !mayRun { visible.append(entry) } else { running.append(entry) }
    }
  }
}
