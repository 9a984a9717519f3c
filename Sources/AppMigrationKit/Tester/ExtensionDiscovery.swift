internal import MigrationSystem

/// Finds the extension types of a program.
enum ExtensionDiscovery {
  /// All types that are migration extensions, except generic types.
  static func types() -> [any AppMigrationExtension.Type] {
    var types: [any AppMigrationExtension.Type] = []
    var seen: Set<ObjectIdentifier> = []
    for found in ConformingTypes.all(of: "AppMigrationExtension", in: "AppMigrationKit") {
      guard let type = found as? any AppMigrationExtension.Type, seen.insert(ObjectIdentifier(type)).inserted
      else { continue }
      types.append(type)
    }
    return types
  }

  /// The only type of some types, or the type with a name, with or without its module's name.
  /// Throws the tester's error if there is none.
  static func onlyType(
    of types: [any AppMigrationExtension.Type], named name: String? = nil
  ) throws(CocoaError) -> any AppMigrationExtension.Type {
    let advice =
      "name the tested type in AppMigrationTester.withConfiguration, or in \(TesterEnvironment.Name.type)"
    guard !types.isEmpty else {
      throw CocoaError(.featureUnsupported, "this program has no migration extension: \(advice)")
    }
    let names = { types.map { String(reflecting: $0) }.sorted().joined(separator: ", ") }
    let fitting = types.filter { name == nil || name == String(reflecting: $0) || name == String(describing: $0) }
    guard let type = fitting.first else {
      throw CocoaError(
        .featureUnsupported,
        "\(TesterEnvironment.Name.type) is \"\(name ?? "")\", and the migration extensions of this program are \(names())"
      )
    }
    guard fitting.count == 1 else {
      throw CocoaError(.featureUnsupported, "this program has several migration extensions (\(names())): \(advice)")
    }
    return type
  }
}
