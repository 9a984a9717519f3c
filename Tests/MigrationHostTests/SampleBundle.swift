import Foundation
import Glibc
import TestSupport
import Testing

/// A valid bundle until a test damages it.
struct SampleBundle {
  var info: [String: Any]
  var entitlements: [String: Any]? = ["com.apple.security.application-groups": ["group.notes"]]
  var extensionInfo: [String: Any] = [
    "CFBundleIdentifier": "org.example.notes.migration", "CFBundleExecutable": "Migration",
    "EXAppExtensionAttributes": ["EXExtensionPointIdentifier": "com.apple.app-migration"],
  ]
  var extensionEntitlements: [String: Any]?
  var hasExtension = true
  var format = PropertyListSerialization.PropertyListFormat.xml
  /// Further files by their paths, and replacements of other files; nil for none.
  var files: [String: String?] = [:]
  /// Called last, in the directory of the bundle.
  var spoil: (String) throws -> Void = { _ in }

  init(_ identifier: String = "org.example.notes", version: String = "1.0", groups: [String] = ["group.notes"]) {
    info = [
      "CFBundleIdentifier": identifier, "CFBundleShortVersionString": version, "CFBundleExecutable": "Notes",
      "CFBundleDisplayName": "Notes",
    ]
    entitlements = ["com.apple.security.application-groups": groups]
    extensionEntitlements = [
      "com.apple.developer.app-migration.data-container-access": [identifier],
      "com.apple.security.application-groups": groups,
    ]
  }

  static let parentKey = "com.apple.developer.parent-application-identifiers"
  static let clipKey = "com.apple.developer.associated-appclip-app-identifiers"

  /// The clip of an app.
  static func clip(
    _ identifier: String = "org.example.notes.clip", of app: String = "org.example.notes", version: String = "1.0",
    groups: [String] = ["group.notes"]
  ) -> SampleBundle {
    var bundle = SampleBundle(identifier, version: version, groups: groups)
    bundle.entitlements?[parentKey] = [app]
    bundle.hasExtension = false
    return bundle
  }

  /// An app that names a clip.
  static func app(
    _ identifier: String = "org.example.notes", clip: String? = "org.example.notes.clip", version: String = "1.0",
    groups: [String] = ["group.notes"]
  ) -> SampleBundle {
    var bundle = SampleBundle(identifier, version: version, groups: groups)
    if let clip { bundle.entitlements?[clipKey] = [clip] }
    return bundle
  }

  /// Adds an extension that consists of a property list.
  mutating func add(_ name: String, _ info: [String: Any]) {
    let data = try? PropertyListSerialization.data(fromPropertyList: info, format: .xml, options: 0)
    files["Extensions/\(name).appex/Info.plist"] = String(decoding: data ?? Data(), as: UTF8.self)
  }

  /// Writes the bundle into a new directory, and returns its path.
  func write(in scratch: Scratch) throws -> [UInt8] {
    let path = "\(scratch.path)/bundle-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    try put(info, "\(path)/Info.plist")
    try put(entitlements, "\(path)/Entitlements.plist")
    try MigrationHostTests.write("#!/bin/sh\n", to: "\(path)/Notes", mode: 0o755)
    if hasExtension {
      let folder = "\(path)/Extensions/Migration.appex"
      try MigrationHostTests.write("#!/bin/sh\n", to: "\(folder)/Migration", mode: 0o755)
      try put(extensionInfo, "\(folder)/Info.plist")
      try put(extensionEntitlements, "\(folder)/Entitlements.plist")
    }
    for (name, text) in files {
      if let text { try MigrationHostTests.write(text, to: "\(path)/\(name)") } else { unlink("\(path)/\(name)") }
    }
    try spoil(path)
    return Array(path.utf8)
  }

  private func put(_ properties: [String: Any]?, _ path: String) throws {
    guard let properties else { return }
    let data = try PropertyListSerialization.data(fromPropertyList: properties, format: format, options: 0)
    try data.write(to: URL(fileURLWithPath: path))
  }
}
