import MigrationSystem
package import MigrationWire

/// Receives folders and files into a directory. Existing items are replaced only if the user asks
/// for it.
package final class FolderImporter: Importer {
  package let area: StagingArea
  package let existing: Existing?
  /// The classes of items at the destination, by their places.
  private let rule: ArrivalRule
  /// Where roots that are keys arrive; nil if roots are names.
  let places: RootDestinations?
  /// Looks at the files when all are there, and may change small ones.
  private let preparing: (@Sendable (StagedFiles) throws(Failure) -> Void)?
  /// Called when everything is in place, and again if the process dies before that is recorded.
  private let completing: (@Sendable () throws(Failure) -> Void)?
  /// Gets the places of old data that has other names now, and these names.
  private let settingAside: (@Sendable ([(place: ArchivePath, name: ArchivePath)]) -> Void)?
  /// The folder of the destination for each device.
  private let folders: (@Sendable (KeyFingerprint) throws(Failure) -> ArchivePath)?

  /// Imports into the directory of the staging area; with `places`, each root to its place there, and
  /// with `folders`, all roots of a device into its folder there.
  package init(
    _ area: StagingArea, existing: Existing? = nil, judging rule: ArrivalRule = ArrivalRule(),
    places: RootDestinations? = nil,
    folders: (@Sendable (KeyFingerprint) throws(Failure) -> ArchivePath)? = nil,
    preparing: (@Sendable (StagedFiles) throws(Failure) -> Void)? = nil,
    completing: (@Sendable () throws(Failure) -> Void)? = nil,
    settingAside: (@Sendable ([(place: ArchivePath, name: ArchivePath)]) -> Void)? = nil
  ) {
    self.settingAside = settingAside
    self.preparing = preparing
    self.completing = completing
    self.area = area
    self.folders = folders
    self.existing = existing
    self.rule = rule
    self.places = places
  }

  /// The same importer, which looks at the files when all of a part are there.
  package func looking(_ look: @escaping @Sendable (StagedFiles) -> Void) -> FolderImporter {
    FolderImporter(
      area, existing: existing, judging: rule, places: places, folders: folders,
      preparing: { (files) throws(Failure) in look(files) }, completing: completing, settingAside: settingAside)
  }

  package var request: AppRequest? { nil }

  package func folder(for device: KeyFingerprint) throws(Failure) -> ArchivePath? { try folders?(device) }

  package func within(_ folder: ArchivePath?) -> any Importers {
    guard let folder else { return self }
    return FolderImporter(area, existing: existing, judging: rule, places: RootDestinations(within: folder))
  }

  package func arrival(of part: Part) -> PartArrival { rule.arrival(of: part.roots, at: places) }

  package func permit(for part: Part, taking taken: ArrivalClasses) -> ArrivalPermit? {
    rule.permit(at: places, taking: taken)
  }

  package func judge(
    _ offer: Offer, held: Tally, on terms: TransferTerms
  ) throws(Failure) -> OfferCheck {
    if case .app(let identity) = offer.contents {
      let app = identity.bundleIdentifier
      // A user pastes the hint into a shell: it names only an identifier that is one plain word.
      let isPlain = app.utf8.count <= 255 && VisibleText.listed(Array(app.utf8)) == app
      throw Failure(
        .otherApp, "the other device offers the data of \(VisibleText.of(app)), and folders are expected here",
        hint: "Start 'peer receive --app \(isPlain ? app : "ID")' on the receiving device, or send folders.",
        name: Array(identity.bundleIdentifier.utf8))
    }
    let roots = offer.contents.roots
    try checkNames(of: roots)
    try checkPlaces(of: roots, terms.existing)
    let taken = roots.compactMap { place(of: $0.name) }
    if terms.existing == .refuse, let name = try area.destination.taken(of: taken) {
      throw Failure(.exists, "\(VisibleText.quoted(name)) already exists in the destination", name: name)
    }
    try area.checkSize(of: offer)
    let space = try area.destination.space()
    return try judge(
      offer, held: held, on: terms, availableBytes: space.availableBytes, availableItems: space.availableItems,
      leaving: Reserve(of: space))
  }

  private func checkNames(of roots: [Root]) throws(Failure) {
    if let name = roots.first(where: { Staging.isName($0.name) })?.name {
      throw Failure(
        .unfit, "the name \(VisibleText.quoted(name)) is reserved for data that has not arrived completely",
        hint: "Rename it on the sending device, and send it again.", name: name)
    }
  }

  /// Examines the existing items only if the space would not suffice without them: an offer of the
  /// same items need not send these bytes.
  ///
  /// The existing items may differ; then the lack of space shows later, and the data received by
  /// then is kept.
  func judge(
    _ offer: Offer, held: Tally, on terms: TransferTerms, availableBytes: UInt64, availableItems: UInt64?,
    leaving reserve: Reserve = .none
  ) throws(Failure) -> OfferCheck {
    func shortage(_ held: Tally) -> SpaceShortage? {
      SpaceShortage(
        of: offer, held: held, availableBytes: availableBytes, availableItems: availableItems, leaving: reserve)
    }
    guard let first = shortage(held) else { return OfferCheck(availableBytes: availableBytes) }
    guard terms.existing.leavesOutEqual else { throw Failure(first) }
    let present = try look(for: offer, terms, timeGranularity: 1, nil)
    if let second = shortage(held.adding(present.tally)) { throw Failure(second) }
    return OfferCheck(availableBytes: availableBytes)
  }

  package func present(
    _ offer: Offer, for staging: Staging, takesBases: Bool
  ) throws(Failure) -> PresentItems {
    let granularity = staging.abilities.timeGranularity
    let isWhole = staging.existing == .setAside
    var present =
      staging.existing.leavesOutEqual
      ? try look(for: offer, staging.terms, timeGranularity: granularity, staging.arrivals) : PresentItems()
    guard staging.existing.leavesOutEqual || isWhole, let arrived = staging.arrivals, !arrived.isEmpty else {
      return present
    }
    let directory = area.destination.directory
    arrived.follow(to: places, in: directory)
    do {
      // An app's data is replaced whole, unless all of it is as it came.
      if !isWhole || isUntouched(offer.contents.roots, by: arrived) {
        try present.add(
          arrived, in: directory, keys: staging.keys, timeGranularity: granularity, existing: staging.existing)
      }
      if takesBases, staging.abilities.tellsEntriesApart {
        try present.addBases(
          arrived, ofAtLeast: isWhole ? 1 : BlockSums.smallestFile, in: directory, keys: staging.keys)
      }
    } catch {
      throw Failure(.storage, "the record of what has arrived cannot be read", cause: error as? SystemError)
    }
    return present
  }

  private func isUntouched(_ roots: [Root], by arrived: ArrivedItems) -> Bool {
    let placed = roots.compactMap { root in place(of: root.name).map { (key: root.name, place: $0.bytes) } }
    return placed.count == roots.count && arrived.areUntouched(placed, in: area.destination.directory.directory)
  }

  /// Lists the contents of the roots.
  private func look(
    for offer: Offer, _ terms: TransferTerms, timeGranularity: UInt32, _ arrived: ArrivedItems?
  ) throws(Failure) -> PresentItems {
    do {
      return try PresentItems(
        of: offer.contents.roots.compactMap { root in
          guard let path = try? ArchivePath(root.name), let place = place(of: root.name) else { return nil }
          return (path, place)
        }, in: area.destination.directory, keys: terms.keys, timeGranularity: timeGranularity,
        replacingNothing: terms.existing == .skip, besides: { arrived?.knows($0) == true })
    } catch {
      throw Failure(.unfit, "the contents of the destination cannot be read", cause: error)
    }
  }

  package func importItems(
    of staging: Staging, progress: (ImportProgress) -> Void
  ) throws(Failure) -> [Done.Loss] {
    guard let disk = staging.disk.destination else { preconditionFailure("folders have a destination") }
    var moves = FolderImport(staging, to: disk, at: places)
    staging.arrivals?.follow(to: places, in: area.destination.directory)
    // The records follow the mark: an undone import has no arrived items. A lost record counts as a
    // change here, and fails no import whose items are in place.
    if case .imported = staging.stage {
      moves.recordEarlierArrivals()
    } else {
      try place(staging, by: &moves, progress)
      moves.recordArrivals()
    }
    staging.arrivals?.synchronize()
    settingAside?(moves.setAside)
    return staging.losses
  }

  private func place(
    _ staging: Staging, by moves: inout FolderImport, _ progress: (ImportProgress) -> Void
  ) throws(Failure) {
    try area.checkPlace()
    try preparing?(StagedFiles(of: staging))
    try moves.run(progress: progress)
    try area.checkPlace()
    do throws(Failure) {
      try completing?()
    } catch {
      throw error.adding(moves.bringBack(afterFailure: true))
    }
    try staging.finishImport()
  }

  /// Does nothing: an import that has begun is completed unless the disk fails.
  package func interrupt() {}
}
