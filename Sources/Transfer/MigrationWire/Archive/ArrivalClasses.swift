/// The classes of arriving items. The receiver alone decides the class of an item, by its own
/// knowledge of the place where the item would be.
package struct ArrivalClasses: OptionSet, Hashable, Sendable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  package static let files = ArrivalClasses(rawValue: 1)
  /// The data of apps, and files in places where programs look for code: both may hold code that a
  /// program runs.
  package static let apps = ArrivalClasses(rawValue: 2)
  /// Secrets, and the files that give a device its identity.
  package static let secrets = ArrivalClasses(rawValue: 4)
  package static let all: ArrivalClasses = [.files, .apps, .secrets]

  /// The classes one by one.
  package var each: [ArrivalClasses] {
    [ArrivalClasses.files, .apps, .secrets].filter { contains($0) }
  }
}

/// The receiver's own view of a part. It trusts no statement of the sender about the part.
package struct PartArrival: Equatable, Sendable {
  /// The receiver's own name of the app, or of the place; for people.
  package let name: String
  /// The classes that each root may have; one element for a part without roots.
  package let roots: [ArrivalClasses]
  /// The places of each class except files: paths that a person knows, in ascending order.
  package let places: [ArrivalClasses: [[UInt8]]]
  /// The roots from which the user has moved or removed arrived items, without a decision so far.
  package var removed: [RemovedArrivals] = []

  package init(name: String, roots: [ArrivalClasses], places: [ArrivalClasses: [[UInt8]]] = [:]) {
    self.name = name
    self.roots = roots
    self.places = places.mapValues { $0.sorted { $0.lexicographicallyPrecedes($1) } }
  }

  /// All classes that the part may have.
  package var classes: ArrivalClasses { roots.reduce([]) { $0.union($1) } }
}

/// The items of one root that arrived earlier and were moved or removed here since.
package struct RemovedArrivals: Equatable, Sendable {
  package let root: [UInt8]
  /// The place of the root: a path that a person knows.
  package let place: [UInt8]
  package let items: UInt64

  package init(root: [UInt8], place: [UInt8], items: UInt64) {
    self.root = root
    self.place = place
    self.items = items
  }
}
