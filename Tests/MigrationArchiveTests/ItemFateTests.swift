import Expectations
import MigrationWire
import Testing

@testable import MigrationArchive

/// The table of the second run: every combination of facts.
@Suite struct ItemFateTests {
  typealias Facts = ItemFate
  typealias Earlier = ItemFate.Earlier

  private static let flags = [false, true]

  private static let earlier: [Earlier] = Facts.Source.allCases.flatMap { source in
    Facts.Since.allCases.flatMap { since in
      flags.flatMap { hasNew in
        flags.map { Earlier(source, since, hasNew: hasNew, isWantedAgain: $0) }
      }
    }
  }

  /// Every combination.
  private static let all: [Facts] = Facts.Kind.allCases.flatMap { kind in
    ([nil] + earlier).flatMap { earlier in
      Facts.Own.allCases.flatMap { own in
        (Existing.allCases + [.setAside]).flatMap { existing in
          flags.flatMap { isRoot in
            flags.map { Facts(kind, earlier, own: own, existing: existing, isRoot: isRoot, isOthers: $0) }
          }
        }
      }
    }
  }

  /// Whether the user has the version of the source, or one made of it, or hears that it is not here.
  private static let namesIt: Set<Facts.Fate> = [.removedHere, .keptAway, .kept, .refused]
  private static let claimsIt: Set<Facts.Fate> = [.known, .present, .isThere]
  private static let placesIt: Set<Facts.Fate> = [
    .arrives, .beside, .replaces, .setsAside, .merges, .mergesFollowing, .follows,
  ]

  @Test func `each combination of facts has one fate, and none is unclear`() {
    expect(Self.all.count > 5_000)
    for facts in Self.all {
      let fate = facts.fate
      expect(fate != .unclear)
      // What the source has is placed, claimed to be here, or named; only what it has no more is none of these.
      let isTold = [Self.namesIt, Self.claimsIt, Self.placesIt].count { $0.contains(fate) } == 1
      expect(isTold || facts.earlier?.source == .gone && [.merge, .update].contains(facts.existing), "\(facts)")
    }
  }

  @Test func `no byte that a user made is overwritten, unless the user wants files replaced`() {
    for facts in Self.all where facts.fate == .replaces {
      let isNewer = facts.earlier?.since == .untouched && facts.earlier?.source == .content
      if facts.existing == .replace {
        expect([.equal, .entry].contains(facts.own) && !facts.isOthers, "\(facts)")
      } else if facts.existing == .update {
        expect(facts.kind == .leaf && isNewer || facts.own == .entry && !facts.isOthers, "\(facts)")
      } else {
        expect(isNewer && facts.existing == .merge && facts.kind == .leaf, "\(facts)")
      }
    }
  }

  @Test func `only what was not touched here gets metadata that came`() {
    for facts in Self.all where [.follows, .mergesFollowing].contains(facts.fate) {
      expect(facts.earlier?.since == .untouched && [.merge, .update].contains(facts.existing), "\(facts)")
      expect(facts.fate == .follows ? facts.earlier?.source == .metadata : facts.kind != .leaf, "\(facts)")
    }
  }

  @Test func `nothing is called known, present or there that does not lie here`() {
    for facts in Self.all {
      switch facts.fate {
      case .known:
        expect([.untouched, .touched].contains(facts.earlier?.since), "\(facts)")
        expect([.same, .metadata].contains(facts.earlier?.source), "\(facts)")
      case .present: expect([.equal, .equalFolder].contains(facts.own), "\(facts)")
      case .isThere: expect(facts.own, is: .itself, "\(facts)")
      default: break
      }
      if [.removed, .displaced].contains(facts.earlier?.since), facts.earlier?.source == .same,
        facts.earlier?.isWantedAgain == false,
        facts.earlier?.hasNew == false, facts.existing == .merge
      {
        expect(facts.fate, is: .removedHere, "\(facts)")
      }
    }
  }

  @Test func `other content is placed or named, never taken for known`() {
    for facts in Self.all where facts.earlier?.source == .content || facts.earlier?.source == .kind {
      expect(facts.fate != .known, "\(facts)")
      expect(facts.fate != .follows, "\(facts)")
    }
  }

  @Test func `what never arrived from this source, and what is as new, have one fate by their names`() {
    for facts in Self.all where facts.earlier != nil {
      var stranger = facts
      stranger.earlier = nil
      var unseen = facts
      unseen.own = nil
      expect(unseen.fate == .unclear ? facts.fate == stranger.fate : facts.fate == unseen.fate, "\(facts)")
    }
  }

  @Test(arguments: [
    // The source has the same, another metadata, content, kind; untouched, touched, removed here.
    (Facts.Kind.leaf, Facts.Source.same, [Facts.Fate.known, .known, .removedHere]),
    (.leaf, .metadata, [.follows, .known, .removedHere]), (.leaf, .content, [.replaces, .beside, .keptAway]),
    (.leaf, .kind, [.setsAside, .beside, .keptAway]), (.leaf, .gone, [.stays, .stays, .nothing]),
    (.folder, .same, [.merges, .merges, .removedHere]), (.folder, .content, [.mergesFollowing, .merges, .removedHere]),
    (.folder, .kind, [.setsAside, .beside, .beside]), (.whole, .same, [.known, .known, .removedHere]),
    (.whole, .content, [.setsAside, .beside, .keptAway]), (.whole, .gone, [.stays, .stays, .nothing]),
  ])
  func `the lines of the second run`(_ kind: Facts.Kind, _ source: Facts.Source, _ fates: [Facts.Fate]) {
    let since: [Facts.Since] = [.untouched, .touched, .removed]
    expect(since.map { Facts(kind, Earlier(source, $0), own: .other, existing: .merge).fate }, is: fates)
  }

  @Test(arguments: [
    (Facts.Own.entry, [Facts.Fate.refused, .kept, .beside, .replaces, .replaces, .beside]),
    (.equal, [.refused, .present, .beside, .replaces, .present, .present]),
    (.other, [.refused, .kept, .beside, .beside, .beside, .beside]),
    (.free, [.arrives, .arrives, .arrives, .arrives, .arrives, .arrives]),
    (.itself, [.isThere, .isThere, .isThere, .isThere, .isThere, .isThere]),
  ])
  func `the lines of a name that is taken`(_ own: Facts.Own, _ fates: [Facts.Fate]) {
    expect(Existing.allCases.map { Facts(.leaf, own: own, existing: $0).fate }, is: fates)
    // What another source has brought in this run.
    let others = Facts(.leaf, own: own, existing: .replace, isOthers: true).fate
    expect(others, is: (own == .equal ? .present : own == .entry ? .beside : fates[3]))
  }

  @Test func `an untouched item is brought up to date, and one that was touched or removed is as new`() {
    let sources: [Facts.Source] = [.same, .metadata, .content, .kind]
    func fates(_ kind: Facts.Kind, _ since: Facts.Since, own: Facts.Own) -> [Facts.Fate] {
      sources.map { Facts(kind, Earlier($0, since), own: own, existing: .update).fate }
    }
    expect(fates(.leaf, .untouched, own: .other), is: [.known, .follows, .replaces, .beside])
    expect(fates(.folder, .untouched, own: .other), is: [.merges, .mergesFollowing, .mergesFollowing, .beside])
    expect(fates(.leaf, .touched, own: .entry), is: [.replaces, .replaces, .replaces, .replaces])
    expect(fates(.leaf, .removed, own: .free), is: [.arrives, .arrives, .arrives, .arrives])
  }

  @Test func `an app is known only if it is the same and untouched, and otherwise comes whole`() {
    for earlier in Self.earlier {
      let fate = Facts(.whole, earlier, own: .folder, existing: .setAside, isRoot: true).fate
      expect(fate, is: (earlier.source == .same && earlier.since == .untouched ? .known : .setsAside))
    }
    expect(Facts(.whole, own: .free, existing: .setAside, isRoot: true).fate, is: .arrives)
    expect(Facts(.leaf, own: .entry, existing: .setAside).fate, is: .beside)
  }
}
