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

extension NewAppFile {
  /// The package: an app, its extension, their shared code, and the extension's tests.
  static func manifest(_ names: NewAppNames, kit: String) -> NewAppFile {
    NewAppFile(
      path: "Package.swift",
      text: #"""
        // swift-tools-version: 6.2
        import PackageDescription

        /// The folder with AppMigrationKit for Linux. On a machine where it is another one, set it once:
        /// export PEER_PACKAGE=FOLDER
        let peer = Context.environment["PEER_PACKAGE"] ?? \#(literal(kit))

        /// On Apple's platforms, AppMigrationKit belongs to the system.
        let kit = Target.Dependency.product(
          name: "AppMigrationKit", package: "peer", condition: .when(platforms: [.linux]))

        let package = Package(
          name: "\#(names.package)",
          dependencies: [.package(name: "peer", path: peer)],
          targets: [
            .target(name: "\#(names.data)"),
            .executableTarget(
              name: "\#(names.app)",
              dependencies: ["\#(names.data)", kit]),
            .executableTarget(
              name: "\#(names.migration)",
              dependencies: ["\#(names.data)", kit]),
            .testTarget(
              name: "\#(names.tests)",
              dependencies: ["\#(names.data)", "\#(names.migration)", kit]),
          ],
          swiftLanguageModes: [.v6]
        )

        """#)
  }

  /// The folders of builds.
  static let ignored = NewAppFile(
    path: ".gitignore",
    text: #"""
      /.build
      /build

      """#)

  /// The first commands, and a list of the folders.
  static func readme(_ names: NewAppNames) -> NewAppFile {
    NewAppFile(
      path: "README.md",
      text: #"""
        # \#(names.base)

        A small app, and the extension with which `peer` moves its data to another device.

            swift test
            ./bundle --debug
            peer app install \#(names.bundle)
            peer app run \#(names.identifier) add "buy milk"
            peer app check \#(names.bundle)
            peer app migrate \#(names.identifier) --to \#(names.bundle)

        | | |
        | --- | --- |
        | `Sources/\#(names.app)` | the app: notes in its Documents, a title in its settings |
        | `Sources/\#(names.data)` | the shared code: both formats, and the places of the files |
        | `Sources/\#(names.migration)` | the extension: the export, and the import with its checks |
        | `Tests` | the extension's tests, with `AppMigrationTester` |
        | `Bundle`, `bundle` | the property lists, and the script that assembles the bundle |

        `./bundle` makes the bundle for other devices: a release, for which everything is compiled again.
        `Package.swift` names the folder of AppMigrationKit's sources here; `PEER_PACKAGE` names another.

        """#)
  }

  /// The script that assembles the bundle.
  static func bundleScript(_ names: NewAppNames) -> NewAppFile {
    NewAppFile(
      path: "bundle",
      text: #"""
        #!/usr/bin/env bash
        # Builds the app and its extension, and assembles the bundle for `peer app install`:
        # \#(names.bundle), which replaces an earlier one.
        #
        # Usage: ./bundle [--debug]
        #   --debug  programs as 'swift test' builds them, which need this machine's toolchain: with the names
        #            that backtraces and debuggers show, and without compiling anything twice
        set -euo pipefail
        cd "$(dirname "${BASH_SOURCE[0]}")"

        # A release with the Swift runtime inside, so that it can be installed on devices without a
        # toolchain. The linker strips it (-s): without data for debuggers, programs are a quarter smaller.
        # The toolchain's own linker, lld, does not warn of a function that only Foundation calls (mktemp).
        options=(-c release --static-swift-stdlib -Xswiftc -use-ld=lld -Xlinker -s)
        case ${1:-} in
        "") ;;
        --debug) options=(--build-tests) ;;
        *)
          echo "usage: ./bundle [--debug]" >&2
          exit 2
          ;;
        esac
        swift build "${options[@]}"
        programs=$(swift build "${options[@]}" --show-bin-path)

        bundle=\#(names.bundle)
        rm -rf "$bundle"
        mkdir -p build
        cp -R Bundle "$bundle"
        cp "$programs/\#(names.app)" "$bundle/"
        extension=$bundle/Extensions/\#(names.migration).appex
        cp "$programs/\#(names.migration)" "$extension/"
        if [ "${1:-}" = --debug ]; then
          # A confined extension reads libraries beside its program, and none of a toolchain.
          ldd "$extension/\#(names.migration)" | grep -o '/[^ ]*/lib/swift/linux/[^ ]*' | xargs cp -L -t "$extension"
        fi

        """#,
      isExecutable: true)
  }
}

extension NewAppFile {
  /// The property lists of the bundle, without its programs.
  static func propertyLists(_ names: NewAppNames) -> [NewAppFile] {
    [
      NewAppFile(
        path: "Bundle/Info.plist",
        text: #"""
          <?xml version="1.0" encoding="UTF-8"?>
          <plist version="1.0">
          <dict>
            <key>CFBundleIdentifier</key>
            <string>\#(names.identifier)</string>
            <key>CFBundleDisplayName</key>
            <string>\#(xml(names.title))</string>
            <key>CFBundleExecutable</key>
            <string>\#(names.app)</string>
            <key>CFBundleShortVersionString</key>
            <string>1.0</string>
          </dict>
          </plist>

          """#),
      NewAppFile(
        path: "Bundle/Entitlements.plist",
        text: #"""
          <?xml version="1.0" encoding="UTF-8"?>
          <plist version="1.0">
          <dict>
            <key>com.apple.security.application-groups</key>
            <array/>
          </dict>
          </plist>

          """#),
      NewAppFile(
        path: "Bundle/Extensions/\(names.migration).appex/Info.plist",
        text: #"""
          <?xml version="1.0" encoding="UTF-8"?>
          <plist version="1.0">
          <dict>
            <key>CFBundleIdentifier</key>
            <string>\#(names.extensionIdentifier)</string>
            <key>CFBundleExecutable</key>
            <string>\#(names.migration)</string>
            <key>CFBundleShortVersionString</key>
            <string>1.0</string>
            <key>EXAppExtensionAttributes</key>
            <dict>
              <key>EXExtensionPointIdentifier</key>
              <string>com.apple.app-migration</string>
            </dict>
          </dict>
          </plist>

          """#),
      NewAppFile(
        path: "Bundle/Extensions/\(names.migration).appex/Entitlements.plist",
        text: #"""
          <?xml version="1.0" encoding="UTF-8"?>
          <plist version="1.0">
          <dict>
            <key>com.apple.developer.app-migration.data-container-access</key>
            <array>
              <string>\#(names.identifier)</string>
            </array>
            <key>com.apple.security.application-groups</key>
            <array/>
          </dict>
          </plist>

          """#),
    ]
  }
}
