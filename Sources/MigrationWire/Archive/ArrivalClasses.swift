/// What may be among the items that arrive. The receiver alone decides it, by its own knowledge of the
/// places where they would be.
package struct ArrivalClasses: OptionSet, Hashable, Sendable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  package static let files = ArrivalClasses(rawValue: 1)
  /// The data of apps, all of which may hold what a program runs, and files where programs look for
  /// what they run.
  package static let apps = ArrivalClasses(rawValue: 2)
  /// Secrets, and what makes a device itself.
  package static let secrets = ArrivalClasses(rawValue: 4)
  package static let all: ArrivalClasses = [.files, .apps, .secrets]

  /// Each of them by itself.
  package var each: [ArrivalClasses] {
    [ArrivalClasses.files, .apps, .secrets].filter { contains($0) }
  }
}

/// What a part is for the receiver, which believes nothing of what the sender says of it.
package struct PartArrival: Equatable, Sendable {
  /// The receiver's own name of the app, or of the place; for people.
  package let name: String
  /// What each root may have; one element for a part without roots.
  package let roots: [ArrivalClasses]
  /// Where items of a class would be, besides files: paths that a person knows, in ascending order.
  package let places: [ArrivalClasses: [[UInt8]]]
  /// The roots from which the user has moved or removed what had arrived, without a word so far.
  package var removed: [RemovedArrivals] = []

  package init(name: String, roots: [ArrivalClasses], places: [ArrivalClasses: [[UInt8]]] = [:]) {
    self.name = name
    self.roots = roots
    self.places = places.mapValues { $0.sorted { $0.lexicographicallyPrecedes($1) } }
  }

  /// Everything that it may have.
  package var classes: ArrivalClasses { roots.reduce([]) { $0.union($1) } }
}

/// Of one root, what arrived earlier and was moved or removed here since.
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
