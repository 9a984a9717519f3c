import MigrationSystem

extension AppBundle {
  /// Reads a bundle, and refuses one that violates docs/Apps.md, with the file, the key and the
  /// reason.
  package init(reading path: [UInt8]) throws(HostError) {
    let faults = BundleFaults()
    let bundle = try Self.read(path, faults)
    guard let bundle, faults.all.isEmpty else { throw Self.first(of: faults) }
    self = bundle
  }

  /// Reads a bundle, and finds all its faults. Returns a bundle if there are none.
  package static func examine(_ path: [UInt8]) throws(HostError) -> (bundle: AppBundle?, faults: [BundleFault]) {
    let faults = BundleFaults()
    let bundle = try read(path, faults)
    return (faults.all.isEmpty ? bundle : nil, faults.all.compactMap(\.fault))
  }

  /// Reads a bundle that was found valid before, without examining each file in it.
  init(installedAt path: [UInt8]) throws(HostError) {
    let faults = BundleFaults()
    let bundle = try AppBundle(try BundleFiles(path), faults)
    guard let bundle, faults.all.isEmpty else { throw Self.first(of: faults) }
    self = bundle
  }

  private static func read(_ path: [UInt8], _ faults: BundleFaults) throws(HostError) -> AppBundle? {
    let files = try BundleFiles(path)
    try files.check(faults)
    return try AppBundle(files, faults)
  }

  private static func first(of faults: BundleFaults) -> HostError {
    guard let first = faults.all.first else { preconditionFailure("an unreadable bundle has a fault") }
    return first
  }

  /// Nil if the faults prevent the use of the bundle.
  private init?(_ files: BundleFiles, _ faults: BundleFaults) throws(HostError) {
    let info = try faults.noting { () throws(HostError) in try files.properties("Info.plist") }
    let identifier = try info.flatMap { info throws(HostError) in
      try faults.noting { () throws(HostError) in try info.identifier("CFBundleIdentifier") }
    }
    let version = try info.flatMap { info throws(HostError) in
      try faults.noting { () throws(HostError) in try info.requiredText("CFBundleShortVersionString") }
    }
    let platform = try Self.text("PeerPlatform", of: info, faults)
    let store = try Self.text("PeerStoreIdentifier", of: info, faults)
    let displayName = try Self.text("CFBundleDisplayName", of: info, faults)
    let executable = try info.flatMap { info throws(HostError) in
      try faults.noting { () throws(HostError) in try files.executable(info, in: "") }
    }
    let aliases = try info?.aliases(faults) ?? []
    let entitlements =
      try faults.noting { () throws(HostError) in try files.propertiesIfThere("Entitlements.plist") } ?? nil
    let groups = try entitlements?.groups(faults) ?? []
    let role = try faults.noting { () throws(HostError) in try entitlements?.role(of: identifier) } ?? nil
    if case .clip? = role {
      try Self.checkClip(info, files, faults)
    }
    let extensions = try faults.noting { () throws(HostError) in try BundleExtensions(files) }
    var migrationExtension: Extension?
    if let folder = extensions?.migration {
      migrationExtension = try Self.readExtension(files, in: folder, of: identifier, faults)
    }
    guard let identifier, let version, let executable, let extensions else { return nil }
    path = files.path
    self.identifier = identifier
    self.role = role ?? .app(clip: nil)
    self.version = version
    self.platform = platform.flatMap { $0.isEmpty ? nil : $0 }
    self.store = store ?? self.platform.map(SourceClaim.usualStore) ?? ""
    self.displayName = displayName.flatMap { $0.isEmpty ? nil : $0 }
    self.executable = path + [UInt8(ascii: "/")] + executable
    self.aliases = aliases
    self.groups = groups
    otherExtensions = extensions.others
    self.migrationExtension = migrationExtension
  }

  /// An optional text.
  private static func text(
    _ key: String, of info: BundleProperties?, _ faults: BundleFaults
  ) throws(HostError) -> String? {
    let text = try faults.noting { () throws(HostError) in try info?.text(key) }
    return text ?? nil
  }

  /// Records the entries that a clip cannot have.
  private static func checkClip(
    _ info: BundleProperties?, _ files: BundleFiles, _ faults: BundleFaults
  ) throws(HostError) {
    if let info, info.values["PeerAliases"] != nil {
      faults.note(
        info.fault("PeerAliases", "a clip has none, since its data is not migrated", hint: "Leave the key out."))
    }
    let folders = try faults.noting { () throws(HostError) in try files.extensionFolders() } ?? []
    for folder in folders {
      faults.note(
        .bundle(
          folder, "a clip has no extension", hint: "Take it out of the bundle: the full app has the extensions."))
    }
  }

  private static func readExtension(
    _ files: BundleFiles, in folder: String, of app: String?, _ faults: BundleFaults
  ) throws(HostError) -> Extension? {
    let info = try faults.noting { () throws(HostError) in try files.properties("\(folder)/Info.plist") }
    let identifier = try info.flatMap { info throws(HostError) in
      try faults.noting { () throws(HostError) in try info.identifier("CFBundleIdentifier") }
    }
    _ = try faults.noting { () throws(HostError) in try info?.checkExtensionPoint() }
    let executable = try info.flatMap { info throws(HostError) in
      try faults.noting { () throws(HostError) in try files.executable(info, in: "\(folder)/") }
    }
    let entitlements = try faults.noting { () throws(HostError) in
      try files.properties("\(folder)/Entitlements.plist")
    }
    if let app { _ = try faults.noting { () throws(HostError) in try entitlements?.checkAccess(to: app) } }
    let groups = try entitlements?.groups(faults) ?? []
    guard let identifier, let executable else { return nil }
    return Extension(
      identifier: identifier, executable: files.path + [UInt8(ascii: "/")] + executable, groups: groups)
  }
}
