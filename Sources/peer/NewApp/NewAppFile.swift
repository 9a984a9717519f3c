/// A file of a new app.
struct NewAppFile: Equatable, Sendable {
  /// Its path within the package: names of letters, digits, dots and hyphens.
  let path: String
  let text: String
  /// Whether it is a script.
  var isExecutable = false
}

extension NewAppFile {
  /// Every file of a new app. The folder contains the sources of AppMigrationKit for its extension.
  static func all(_ names: NewAppNames, kit: String) -> [NewAppFile] {
    [manifest(names, kit: kit), ignored, readme(names), bundleScript(names)]
      + propertyLists(names) + shared(names) + [app(names), migration(names), tests(names)]
  }
}
