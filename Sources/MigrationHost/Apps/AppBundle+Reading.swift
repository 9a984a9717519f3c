import MigrationSystem
import MigrationWire

extension AppBundle {
  /// Reads a bundle, and refuses one that is not made as docs/Apps.md says: the file, the key and the reason are named.
  package init(reading path: [UInt8]) throws(HostError) {
    let files = try BundleFiles(path)
    try files.check()
    try self.init(files)
  }

  /// Reads a bundle that was found to be in order before, without looking at each file in it.
  init(installedAt path: [UInt8]) throws(HostError) {
    try self.init(try BundleFiles(path))
  }

  private init(_ files: BundleFiles) throws(HostError) {
    let info = try files.properties("Info.plist")
    path = files.path
    identifier = try info.identifier("CFBundleIdentifier")
    version = try info.requiredText("CFBundleShortVersionString")
    platform = try info.text("PeerPlatform").flatMap { $0.isEmpty ? nil : $0 }
    store = try info.text("PeerStoreIdentifier") ?? platform.map(SourceClaim.usualStore) ?? ""
    displayName = try info.text("CFBundleDisplayName").flatMap { $0.isEmpty ? nil : $0 }
    executable = path + [UInt8(ascii: "/")] + (try files.executable(info, in: ""))
    aliases = try info.aliases()
    groups = try files.propertiesIfThere("Entitlements.plist")?.groups() ?? []
    let extensions = try BundleExtensions(files)
    otherExtensions = extensions.others
    migrationExtension = try Self.readExtension(files, in: extensions.migration, of: identifier)
  }

  private static func readExtension(
    _ files: BundleFiles, in folder: String, of app: String
  ) throws(HostError) -> Extension {
    let info = try files.properties("\(folder)/Info.plist")
    let identifier = try info.identifier("CFBundleIdentifier")
    try info.checkExtensionPoint()
    let executable = try files.executable(info, in: "\(folder)/")
    let entitlements = try files.properties("\(folder)/Entitlements.plist")
    try entitlements.checkAccess(to: app)
    return Extension(
      identifier: identifier, executable: files.path + [UInt8(ascii: "/")] + executable,
      groups: try entitlements.groups())
  }
}

extension HostError {
  /// A bundle cannot be used because of a file in it.
  static func bundle(_ file: some Sequence<UInt8>, _ reason: String, hint: String? = nil) -> HostError {
    HostError(
      .bundle, "the bundle is not fit: \(VisibleText.quoted(file)): \(reason)",
      hint: hint ?? "'peer help app install' says how a bundle is made.", name: Array(file))
  }

  static func bundle(_ file: String, _ reason: String, hint: String? = nil) -> HostError {
    .bundle(file.utf8, reason, hint: hint)
  }
}
