import MigrationApps
import MigrationArchive
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// What happens where the new computer has data of an app of files already.
extension KeyedArrivals {
  /// Fails if data of the app is here and would be in the way, or nothing newer is there.
  func check(_ arrival: AppDestination, _ roots: [Root], of part: Part) throws(Failure) {
    let data = arrival.data(of: roots.map(\.name), in: home.directory, besides: known.catalogue.skeleton)
    let path = replacesApps ? nil : touched(data, part, arrival)
    if path != nil || arrival.inUse != nil, !replacesApps, hasAll(of: part) {
      throw Failure(
        .nothingNewer,
        "what had arrived of \(VisibleText.of(arrival.name)) was changed here, and nothing is newer there")
    }
    if let user = arrival.inUse, use == nil { throw inUse(arrival, user) }
    guard arrival.settings.isEmpty || settings != nil else {
      throw Failure(
        .notInstalled,
        "\(VisibleText.of(arrival.name)) needs dconf, which is not among the programs of this system that only root changes",
        hint: DataHint.dconfMissing.text)
    }
    guard let path else { return }
    throw Failure(
      .appHasData, "\(VisibleText.of(arrival.name)) has data here already: \(VisibleText.quoted(path))",
      hint: DataHint.appHasData.text, name: path)
  }

  /// Whether an earlier migration has brought all that the source has of a part.
  private func hasAll(of part: Part) -> Bool {
    guard let store, let place = try? area.place() else { return false }
    return store.arrivedItems(of: part, at: place).contains {
      $0.hasAll(of: part.roots, items: part.items, changed: part.changed)
    }
  }

  /// The first of an app's data that is not as an earlier migration has left it.
  private func touched(_ data: [[UInt8]], _ part: Part, _ arrival: AppDestination) -> [UInt8]? {
    guard let first = data.first, let store, let place = try? area.place() else { return data.first }
    let keys = Dictionary(arrival.places.map { ($0.value, Array($0.key.utf8)) }) { first, _ in first }
    var found: [UInt8]?
    for arrived in store.arrivedItems(of: part, at: place) {
      let touched = data.first { place in
        let roots = keys[place].map { [(key: $0, place: place)] } ?? []
        return roots.isEmpty || !arrived.areUntouched(roots, in: home.directory, besides: Set(arrival.started))
      }
      guard let touched else { return nil }
      found = touched
    }
    return found ?? first
  }
}
