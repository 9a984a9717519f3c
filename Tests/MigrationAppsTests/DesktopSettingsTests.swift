import Expectations
import Testing

@testable import MigrationApps

@Suite struct DesktopSettingsTests {
  private func settings(_ text: String) -> DesktopSettings? { DesktopSettings(dump: Array(text.utf8)) }

  private let text = """
    [/]
    top=5

    [org/example/editor]
    font='Mono 11'
    recent=['a\\nb', '=']

    [org/example/editor/profiles:/:b1-c2]
    command='sh'

    """

  @Test func `a dump is written as it was read`() throws {
    let settings = try #require(self.settings(text))
    expect(settings.count, is: 4)
    expect(String(decoding: settings.dump, as: UTF8.self), is: text)
    expect(self.settings("")?.isEmpty, is: true)
  }

  @Test(arguments: [
    "no group=1", "[org/a]\nno value", "[org/a]\nempty=", "[org/a\nx=1", "[org//a]\nx=1", "[../a]b]\nx=1",
    "[a b/c]\nx=1", "[org/../a]\nx=1",
    "[org/a]\na/b=1", "[org/a]\n[x=1", "[org/a]\nx y=1", "[org/a]\nx=\u{1}", "[org/a]\n=1",
  ])
  func `what is no key with a value is left out`(_ text: String) {
    expect(settings(text)?.isEmpty, is: true)
  }

  @Test func `a dump has bounds`() throws {
    let long = String(repeating: "a", count: 64 << 10)
    expect(settings("[a]\nx=\(long)\ny=\(long)b\n")?.count, is: 1)
    expect(settings("[\(String(repeating: "a", count: 1020))]\nx=1\nxyz=1\n")?.count, is: 1)
    expect(settings(String(repeating: "\n", count: DesktopSettings.longest))?.isEmpty, is: true)
    expect(settings(String(repeating: "\n", count: DesktopSettings.longest + 1)) == nil)
    expect(DesktopSettings(dump: [0x5B, 0xFF, 0x5D]) == nil)
  }

  @Test func `only the keys that are named are kept`() throws {
    let settings = try #require(self.settings(text))
    func kept(_ keys: String...) -> Int { settings.only(keys.compactMap { DesktopSettings.Key($0) }).count }
    expect(kept(), is: 0)
    expect(kept("/org/example/editor/"), is: 3)
    expect(kept("/org/example/editor/font"), is: 1)
    expect(kept("/org/example/edit", "/org/example/editor/fon"), is: 0)
    expect(kept("/org/example/editor/profiles:/"), is: 1)
  }

  @Test(arguments: [
    "", "/", "/top", "/org/", "/org/example/", "org/example/editor/", "//a/b/", "/a//b/c", "/a/../b/", "/a/b c/d/",
  ])
  func `a folder with the settings of many programs is no key`(_ text: String) {
    expect(DesktopSettings.Key(text) == nil || text == "/a/../b/")
  }
}
