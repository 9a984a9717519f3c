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
            <string>\#(XMLText.escaped(names.title))</string>
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
