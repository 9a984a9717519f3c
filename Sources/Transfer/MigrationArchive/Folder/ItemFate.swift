import MigrationWire

/// Decides the fate of a name when a source is moved again; no other code decides this. The sender
/// asks with the facts of the ledger, the import with the facts that it finds at the destination.
///
/// **An item of the source that arrived here before** (its own record says so; `merge`):
///
/// | at the source | here | file or link | folder | what belongs together |
/// | --- | --- | --- | --- | --- |
/// | the same | untouched, touched | known | merged | known |
/// | the same | removed | removed here | removed here | removed here |
/// | other metadata | untouched | follows | merged, and follows | known |
/// | other metadata | touched | known | merged | known |
/// | other metadata | removed | removed here | removed here | removed here |
/// | other content | untouched | replaced | merged, and follows | set aside |
/// | other content | touched | as new | merged | as new |
/// | other content | removed | kept away | removed here | kept away |
/// | another kind | untouched | set aside | set aside | set aside |
/// | another kind | touched | as new | as new | as new |
/// | another kind | removed | kept away | as new | as new |
/// | no more | untouched, touched | stays | stays | stays |
/// | no more | removed | nothing | nothing | nothing |
///
/// *Removed* includes moved, also where the user meant it. If an entry of another kind lies at the
/// item's place, the item counts as removed, and newer content of a file or of a unit is *as new*.
/// A folder that was removed here, and has a new item in it, is *as new*, and so is every removed
/// item that the user wants again; a unit counts as removed then if any item in it is. For *another
/// kind*, and for a unit, a folder is untouched only with everything in it.
/// With *update*, an untouched item is treated so too, but what belongs together item by item, and
/// every other item is *as new*.
/// The data of an app comes whole: it is *known* if it is the same and untouched, and otherwise as new.
///
/// **Every other item, and what is *as new***:
///
/// | its name here | refuse | keep-both | set aside | skip | merge | replace | update |
/// | --- | --- | --- | --- | --- | --- | --- | --- |
/// | is free | arrives | arrives | arrives | arrives | arrives | arrives | arrives |
/// | is its own, from a run that died | there | there | there | there | there | there | there |
/// | a folder, for a folder | refused | beside | set aside | merged | merged | merged | merged |
/// | the same for what belongs together, equal | refused | beside | set aside | merged | present | merged | merged |
/// | the same, not equal | refused | beside | set aside | merged | beside | merged | merged |
/// | a folder of another file system | refused | beside | set aside | merged | beside | merged | merged |
/// | an equal file or link | refused | beside | set aside | present | present | replaced | present |
/// | another file or link, for one | refused | beside | set aside | kept | beside | replaced | replaced |
/// | anything else | refused | beside | set aside | kept | beside | beside | beside |
///
/// Only the root of an app is set aside; an item below it goes beside. An item that another source has
/// brought in this run is never replaced: the new item arrives beside it, or is present if it is equal.
///
/// Two things hold for every line (`ItemFateTests` has all of them): no byte that a user made is
/// overwritten unless the user said `replace`, and nothing is called known, present or there that does
/// not lie here.
struct ItemFate: Equatable, Sendable {
  /// What the source has under the name now.
  enum Kind: CaseIterable, Sendable {
    /// A file or a symbolic link.
    case leaf
    case folder
    /// A folder that is treated as one item: under version control, or an app's data.
    case whole
  }

  /// How the source's item compares with the arrived item.
  enum Source: CaseIterable, Sendable {
    case same
    /// Equal content, and another mode, owner or attribute.
    case metadata
    case content
    /// A folder where there was a file or link, a link where there was a file, and so on.
    case kind
    case gone
  }

  /// The state of the arrived item here. In doubt, it counts as touched.
  enum Since: CaseIterable, Sendable {
    case untouched
    case touched
    /// An entry of another kind lies in its place.
    case displaced
    /// Moved or removed.
    case removed

    /// Whether the item does not lie where it arrived.
    var isAway: Bool { self == .removed || self == .displaced }
  }

  /// The entry that has the item's own name here.
  enum Own: CaseIterable, Sendable {
    case free
    /// The item: a run that died had given it this name.
    case itself
    /// A folder, where the item is one.
    case folder
    /// A folder that equals the item, where the item is a unit.
    case equalFolder
    /// A folder of another file system.
    case mount
    /// A file of equal size and time, or a link with an equal target.
    case equal
    /// Another file or link, where the item is one.
    case entry
    case other
  }

  enum Fate: CaseIterable, Sendable {
    /// The facts do not suffice: the entry with the item's own name must be looked up.
    case unclear
    case arrives
    case beside
    /// In one step, in the place of the earlier version or of the existing entry.
    case replaces
    /// The earlier version, or the existing entry, gets another name, and the item its name.
    case setsAside
    case merges
    /// Merged, and the folder gets the metadata that came.
    case mergesFollowing
    /// The metadata that came is set.
    case follows
    /// The source has no newer version, and the arrived item lies here.
    case known
    /// An equal item lies here.
    case present
    case isThere
    /// It arrived, and was moved or removed here: counted apart.
    case removedHere
    /// A newer version of an item that was moved or removed here: not stored, and named.
    case keptAway
    /// An existing item is kept: this one is not stored, and named.
    case kept
    /// The whole transfer is refused.
    case refused
    /// The source has it no more, and it stays here: named.
    case stays
    case nothing
  }

  var kind: Kind
  /// Nil if nothing has arrived from this source under this name.
  var earlier: Earlier?
  /// Nil before the entry with the item's own name has been looked up.
  var own: Own?
  var existing: Existing
  /// Whether it is a root of the archive.
  var isRoot = false
  /// Whether another source has brought, in this run, the entry with the item's own name.
  var isOthers = false

  struct Earlier: Equatable, Sendable {
    var source: Source
    var since: Since
    /// Whether a removed folder has anything at the source that was not removed with it.
    var hasNew = false
    /// Whether the user wants the removed item again.
    var isWantedAgain = false

    init(_ source: Source, _ since: Since, hasNew: Bool = false, isWantedAgain: Bool = false) {
      self.source = source
      self.since = since
      self.hasNew = hasNew
      self.isWantedAgain = isWantedAgain
    }

    /// Whether the item does not lie where it arrived.
    var isAway: Bool { since.isAway }
  }

  init(
    _ kind: Kind, _ earlier: Earlier? = nil, own: Own? = nil, existing: Existing, isRoot: Bool = false,
    isOthers: Bool = false
  ) {
    self.kind = kind
    self.earlier = earlier
    self.own = own
    self.existing = existing
    self.isRoot = isRoot
    self.isOthers = isOthers
  }

  var fate: Fate {
    if let earlier, let fate = fate(since: earlier) { return fate }
    guard let own else { return .unclear }
    return fate(besides: own)
  }

  /// The fate by the first table; nil for an item that is as new.
  private func fate(since earlier: Earlier) -> Fate? {
    switch existing {
    case .merge: break
    case .update: return earlier.since == .untouched ? fateOfUpdate(of: earlier.source) : nil
    case .setAside: return isRoot && (earlier.source, earlier.since) == (.same, .untouched) ? .known : nil
    case .refuse, .keepBoth, .skip, .replace: return nil
    }
    if earlier.source == .gone { return earlier.isAway ? .nothing : .stays }
    guard earlier.isAway else {
      if earlier.source == .kind { return earlier.since == .untouched ? .setsAside : nil }
      return fate(isUntouched: earlier.since == .untouched, earlier.source)
    }
    if earlier.isWantedAgain { return nil }
    switch (kind, earlier.source) {
    case (.leaf, .same), (.leaf, .metadata): return .removedHere
    case (_, .kind) where kind != .leaf: return nil
    case (.leaf, _), (.whole, .content): return earlier.since == .displaced ? nil : .keptAway
    case (.whole, _): return .removedHere
    case (.folder, _): return earlier.hasNew ? nil : .removedHere
    }
  }

  /// The fate of an untouched item where existing items are brought up to date.
  private func fateOfUpdate(of source: Source) -> Fate? {
    switch (kind, source) {
    case (_, .gone): .stays
    case (.leaf, .same): .known
    case (.leaf, .metadata): .follows
    case (.leaf, .content): .replaces
    case (_, .kind): nil
    case (_, .same): .merges
    case (_, .metadata), (_, .content): .mergesFollowing
    }
  }

  /// The lines of the first table for an item that lies here.
  private func fate(isUntouched: Bool, _ source: Source) -> Fate? {
    switch (kind, isUntouched, source) {
    case (.folder, true, .metadata), (.folder, true, .content): .mergesFollowing
    case (.folder, _, _): .merges
    case (.leaf, true, .metadata): .follows
    case (.leaf, true, .content): .replaces
    case (.whole, true, .content): .setsAside
    case (_, false, .content): nil
    case (_, _, _): .known
    }
  }

  /// The second table.
  private func fate(besides own: Own) -> Fate {
    switch (own, existing) {
    case (.free, _): .arrives
    case (.itself, _): .isThere
    case (_, .refuse): .refused
    case (_, .keepBoth): .beside
    case (_, .setAside): isRoot ? .setsAside : .beside
    case (.folder, .merge): kind == .whole ? .beside : .merges
    case (.equalFolder, .merge), (.equal, .merge), (.equal, .skip), (.equal, .update): .present
    case (.mount, .merge): .beside
    case (.folder, _), (.equalFolder, _), (.mount, _): .merges
    case (_, .skip): .kept
    case (.equal, .replace): isOthers ? .present : .replaces
    case (.entry, .replace), (.entry, .update): isOthers ? .beside : .replaces
    case (.entry, .merge), (.other, .merge), (.other, .replace), (.other, .update): .beside
    }
  }
}
