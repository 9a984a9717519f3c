@testable import MigrationWire

/// The content of the vectors, written down a second time as values. Vectors with unknown fields
/// have no such value.
enum Expected {
  static let all = early.merging(openings) { $1 }.merging(plans) { $1 }.merging(ledger) { $1 }.merging(endings) { $1 }
    .merging(streams) { $1 }

  private static let early: [String: Frame] = [
    "pairing-hello-c-pair": .early(.clientHello(versions: 3...3, mode: .pair)),
    "pairing-hello-c-resume": .early(.clientHello(versions: 3...3, mode: .resume)),
    "pairing-hello-c-join": .early(.clientHello(versions: 3...3, mode: .join)),
    "pairing-hello-c-later": .early(.clientHello(versions: 3...4, mode: .pair)),
    "pairing-hello-s-pair": .early(.serverHello(version: 3, mode: .pair)),
    "pairing-hello-s-resume": .early(.serverHello(version: 3, mode: .resume)),
    "pairing-hello-s-join": .early(.serverHello(version: 3, mode: .join)),
    "pairing-share-a": .early(
      .pairA(
        bytes(
          hex: "040ec67f0bae9fec54bb3e9cf3559b1a7b3e61460af670a2c7dfc427aeb7a3b8df"
            + "259f0926b3f04df3e44d2a9664deee0969595fac451ced776b797e16028dd006"))),
    "pairing-share-b": .early(
      .pairB(
        bytes(
          hex: "042782388099221e8432d85ee14c4c9d15cda4c2f401fedcfa971fd8c6a8317430"
            + "a9120a3444d605d2a76b629d8c223390f8e94c5eeb2b675216ceff10b195f7ae"))),
    "pairing-confirm-a": .early(
      .confirmA(bytes(hex: "4265b7955619de9291d747a4d246900024530b6f838105bea09014d40865cf3c"))),
    "pairing-confirm-b": .early(
      .confirmB(bytes(hex: "3c9fa49edef8a02e56fced742897627b586c389f36a34fa1deff81d1ae57a735"))),
    "pairing-ready": .early(.ready),
    "pairing-abort-code-mismatch": .early(.abort(.codeMismatch)),
    "pairing-abort-not-pairing": .early(.abort(.notPairing)),
    "pairing-abort-code-expired": .early(.abort(.codeExpired)),
    "pairing-abort-busy-soon": .early(.abort(.busy, .busy(wait: .moment, place: 0))),
    "pairing-abort-busy-in-line": .early(.abort(.busy, .busy(wait: .later, place: 3))),
    "pairing-abort-busy-never": .early(.abort(.busy, .busy(wait: .never, place: 0))),
    "pairing-abort-busy-unknown-wait": .early(
      .abort(.busy, .busy(wait: AbortDetails.Wait(rawValue: 9), place: .max))),
    "pairing-abort-version": .early(.abort(.version, .versions(3, 3))),
    "pairing-abort-malformed": .early(.abort(.malformed)),
    "pairing-abort-unknown-peer": .early(.abort(.unknownPeer)),
  ]

  private static let openings: [String: Frame] = [
    "greeting-sender": .control(
      .greeting(Greeting(role: .sender, label: "laptop", software: "peer 1.0", features: .zstd))),
    "greeting-empty": .control(.greeting(Greeting(role: .receiver, label: "", software: "", features: []))),
    "greeting-request": .control(
      .greeting(
        Greeting(
          role: .receiver, label: "Küche", software: "peer 1.0", features: .zstd,
          request: AppRequest(bundleIdentifier: "org.example.notes", platform: "linux")))),
    "greeting-options": .control(
      .greeting(
        Greeting(
          role: .receiver, label: "desk", software: "peer 1.0", features: [],
          request: AppRequest(
            bundleIdentifier: "org.example.notes", platform: "linux",
            options: [
              AppRequest.Option(name: "since", value: [0, 0xFF, 0x32, 0x30]), AppRequest.Option(name: "a", value: []),
            ])))),
    "offer": .control(.offer(PartTotals(items: 12, bytes: 3456, allocated: 8192))),
    "offer-estimate": .control(
      .offer(
        PartTotals(
          part: 4095, items: Limits.fileSize, bytes: Limits.fileSize, allocated: Limits.fileSize, flags: .estimated))),
    "offer-nothing": .control(.offer(PartTotals(part: 1, items: 0, bytes: 0, allocated: 0))),
    "accept": .control(.accept(Accept(keys: keys))),
    "accept-traits": .control(.accept(Accept(keys: keys, traits: narrowTraits))),
    "accept-absent": .control(.accept(Accept(keys: keys, flags: .namesAbsent))),
    "accept-able": .control(.accept(Accept(keys: keys, traits: DestinationTraits()))),
  ]

  private static let keys = TransferKeys(hashKey: counted(0x50))

  private static let narrowTraits = {
    var traits = DestinationTraits()
    traits.largestFile = 4_294_967_295
    traits.timeGranularity = 2_000_000_000
    (traits.earliestTime, traits.latestTime) = (-2_147_483_648, 2_147_483_647)
    return traits
  }()

  private static let photoRoots = [
    Root(kind: .file, name: ascii("notes.txt")), Root(kind: .directory, name: ascii("photos")),
    Root(kind: .symbolicLink, name: ascii("photoz")),
  ]

  private static let folders = Part(.folders(photoRoots), name: "photos")
  private static let notes = notes(nil)

  private static func notes(_ options: [String]?) -> Part {
    let app = AppIdentity(
      bundleIdentifier: "org.example.notes", store: "store", platform: "linux", version: "2.1", options: options)
    return Part(.app(app), name: "Notes")
  }

  private static let editor = Part(.files(of: "org.example.editor", directories("config", "state")), name: "Editor")

  private static func directories(_ names: String...) -> [Root] {
    names.map { Root(kind: .directory, name: ascii($0)) }
  }

  private static func plan(
    _ parts: Part..., continuing transfer: TransferID? = nil, flags: Plan.Flags = []
  ) -> Frame {
    .control(.plan(Plan(parts, continuing: transfer, flags: flags)))
  }

  private static func verdict(
    _ parts: [Verdict.Judgement], window: UInt64 = 1 << 26, streams: UInt16 = 4, flags: Plan.Flags = []
  ) -> Frame {
    .control(
      .verdict(
        Verdict(
          transfer: counted(0x10), session: counted(0x20), window: window, streams: streams, parts: parts,
          flags: flags)))
  }

  private static func noSpace(name: [UInt8]? = nil) -> Close {
    Close(
      .noSpace, "not enough space", for: .recordsFull, name: name,
      bytes: Close.Space(needed: 5000, available: 4000), items: Close.Space(needed: 7000, available: 6000), error: 28)
  }

  private static let plans: [String: Frame] = [
    "plan-folders": plan(folders),
    "plan-sources": plan(
      Part(
        .folders(photoRoots), name: "photos",
        sources: [SourceIdentity(0xA0A1_A2A3_A4A5_A6A7), .unknown, SourceIdentity(.max)])),
    "plan-estimates": plan(
      Part(.folders(photoRoots), name: "photos", bytes: Limits.fileSize, items: Limits.fileSize), flags: .keepPairing),
    "plan-names": plan(
      Part(
        .folders([
          Root(kind: .directory, name: [0x80, 0xFF]),
          Root(kind: .directory, name: [UInt8](repeating: 0xC3, count: 255)),
        ]), name: String(repeating: "ü", count: 127))),
    "plan-home": plan(Part(.role("home", directories("documents", "pictures")), name: "home")),
    "plan-app": plan(notes), "plan-app-options": plan(notes(["media", "since"])),
    "plan-app-no-options": plan(notes([])),
    "plan-files": plan(editor),
    "plan-home-paths": plan(
      Part(
        .files(of: "org.example.editor", directories("config", "state")), name: "Editor",
        homePaths: [
          HomePath(key: ascii("documents"), path: ascii("/home/anna/Dokumente")),
          HomePath(key: ascii("home"), path: ascii("/home/anna")),
        ])),
    "plan-changed": plan(
      Part(
        .files(of: "org.example.editor", directories("config", "state")), name: "Editor",
        changed: ItemTime(seconds: -1, nanoseconds: 999_999_999)),
      Part(
        .folders(photoRoots), name: "photos",
        homePaths: [HomePath(key: ascii("home"), path: ascii("/home/anna"))])),
    "plan-packages": plan(
      Part(.role("home", directories("documents")), name: "home", packages: ["g++", "vim"])),
    "plan-resume": plan(folders, notes, editor, continuing: counted(0x10)),
    "plan-unknown-kind": plan(
      folders,
      Part(
        .unknown(
          200, identifier: "x",
          roots: [Root(kind: .directory, name: ascii("A")), Root(kind: .hardLink, name: ascii("b/c"))]), name: "later")),
    "plan-unknown-role": plan(Part(.role("office", directories("papers")), name: "office")),
    "plan-largest": .control(.plan(Plan([Part](repeating: Part(.unknown(0), name: "x"), count: 4096)))),
    "verdict": verdict([.taken()]),
    "verdict-smallest": verdict([.taken()], window: 2_621_440, streams: 1),
    "verdict-largest": verdict([.taken()], window: .max, streams: 64, flags: Plan.Flags(rawValue: .max)),
    "verdict-codes": verdict(
      [.taken(), .finished] + (1...22).map { .refused(Close(Close.Code(rawValue: $0))) }),
    "verdict-unknown-code": verdict([.refused(Close(Close.Code(rawValue: 999), "later"))]),
    "verdict-space": verdict([
      .refused(noSpace()), .refused(Close(.exists, "an entry exists", name: [0xFF] + ascii("name"))),
    ]),
    "verdict-without": verdict([
      .taken(without: [
        Verdict.RefusedRoot(root: 0, code: .notAllowed), Verdict.RefusedRoot(root: 2, code: .exists),
      ])
    ]),
    "failed": .control(.failed(Failed(part: 2, Close(.storage, "the disk has failed")))),
    "failed-space": .control(.failed(Failed(part: 4095, noSpace(name: [0xFF] + ascii("name"))))),
  ]

  private static let ledger: [String: Frame] = [
    "held-staged": .control(.held(Held(kind: .staged, marks: [0, 1, counted(0x60), .max]))),
    "held-present": .control(.held(Held(kind: .present, marks: [counted(0x60)]))),
    "held-content": .control(.held(Held(kind: .content, marks: [counted(0x60)]))),
    "held-base": .control(
      .held(
        Held(
          kind: .base,
          marks: [
            keys.baseMark(path: path("photos/hello.txt"), size: 13, sum: bytes(hex: "188135fd05c93f0f00000000"))
          ]))),
    "held-removed": .control(.held(Held(kind: .removed, marks: [counted(0x70)]))),
    "held-taken": .control(.held(Held(kind: .taken, marks: [counted(0x60), counted(0x70)]))),
    "partial": .control(
      .partial(
        Partial(
          path: path("photos/film.mov"), generation: counted(0xA0),
          ranges: ByteRanges([0..<1, 2..<1_048_576, 1 << 40..<Limits.fileSize])))),
    "held-end": .control(.heldEnd(HeldEnd(held: Tally(items: 4, bytes: 123_456_789)))),
  ]

  private static let endings: [String: Frame] = [
    "drop": .control(.drop([counted(0x60), counted(0x70)])),
    "not-stored": .control(.notStored(NotStored(path: ascii("photos/x"), .vanished))),
    "not-stored-error": .control(.notStored(NotStored(path: ascii("photos/x"), .unreadable, error: 13))),
    "not-stored-long": .control(
      .notStored(NotStored(path: ascii("photos/" + String(repeating: "n", count: 300)), .beyondLimits))),
    "not-stored-differing": .control(.notStored(NotStored(path: ascii("photos/x"), .existsAndDiffers))),
    "not-stored-later": .control(.notStored(NotStored(path: ascii("s"), NotStored.Reason(rawValue: 200)))),
    "not-stored-state": .control(
      .notStored(NotStored(path: path("photos/a:b"), generation: counted(0xA0), .nameNotAllowed))),
    "not-stored-state-later": .control(
      .notStored(
        NotStored(path: path("photos/a:b"), generation: counted(0xA0), NotStored.Reason(rawValue: 200)))),
    "finish-behind": .control(
      .finish(
        Finish(
          total: Tally(items: 12, bytes: 3456), unsent: 1, digest: counted(0x80),
          lostAttributes: [
            LostAttribute(name: ascii("security.capability"), count: 1),
            LostAttribute(name: ascii("security.selinux"), count: 4000),
          ]))),
    "finish-left-out": .control(
      .finish(
        Finish(
          total: Tally(items: 12, bytes: 3456), unsent: 1, digest: counted(0x80),
          leftOut: LeftOut(present: 4000, differing: 3)))),
    "finish-removed": .control(
      .finish(
        Finish(
          total: Tally(items: 12, bytes: 3456), unsent: 1, digest: counted(0x80), leftOut: LeftOut(removed: 7)))),
    "finish": .control(.finish(Finish(total: Tally(items: 12, bytes: 3456), unsent: 1, digest: counted(0x80)))),
    "progress-verifying": .control(.progress(ImportProgress(phase: .verifying, done: 5, total: 12))),
    "progress-importing": .control(.progress(ImportProgress(phase: .importing, done: 5, total: 12))),
    "progress-durable": .control(.progress(ImportProgress(phase: .makingDurable, done: 5, total: 12))),
    "progress-later": .control(
      .progress(ImportProgress(phase: ImportProgress.Phase(rawValue: 200), done: 0, total: 0))),
    "done": .control(.done(Done(total: Tally(items: 12, bytes: 3456)))),
    "done-losses": .control(
      .done(
        Done(
          total: Tally(items: 12, bytes: 3456),
          losses: [
            Done.Loss(kind: .mode, count: 100), Done.Loss(kind: .time, count: 200), Done.Loss(kind: .owner, count: 300),
            Done.Loss(kind: .attribute, count: 400), Done.Loss(kind: .accessList, count: 500),
            Done.Loss(kind: .hardLink, count: 600), Done.Loss(kind: .hole, count: 700),
            Done.Loss(kind: .setIDBit, count: 800),
          ]))),
    "done-later": .control(
      .done(
        Done(
          total: Tally(items: 12, bytes: 3456), losses: [Done.Loss(kind: Done.Loss.Kind(rawValue: 200), count: 1)]))),
    "done-renamed": .control(
      .done(
        Done(
          total: Tally(items: 12, bytes: 3456),
          renamed: [
            RenamedItem(path: path("photos"), target: path("photos (2)")),
            RenamedItem(path: path("notes.txt"), target: path("notes (3).txt")),
          ], count: 3))),
    "done-removed": .control(
      .done(Done(total: Tally(items: 12, bytes: 3456), removed: Done.Removed(count: 9, unsettled: 4)))),
    "done-not-stored": .control(.done(Done(total: Tally(items: 12, bytes: 3456), notStored: 3))),
    "receipt": .control(.receipt),
    "addresses": .control(
      .addresses(
        Addresses(
          listening: [
            InternetAddress(address: [192, 0, 2, 7], port: 47470),
            InternetAddress(address: bytes(hex: "20010db8000000000000000000000007"), port: 47470),
          ],
          dialling: [InternetAddress(address: [203, 0, 113, 9], port: 40001)]))),
    "addresses-none": .control(.addresses(Addresses(listening: [], dialling: []))),
    "ping": .control(.ping(1)),
    "pong": .control(.pong(.max)),
    "close": .control(.close(Close(.interrupted, "interrupted"))),
    "close-exists": .control(
      .close(Close(.exists, "an entry exists", for: Close.Cause(rawValue: 999), name: [0xFF] + ascii("name")))),
    "close-space": .control(
      .close(
        Close(
          .noSpace, "not enough space", bytes: Close.Space(needed: 5000, available: 6000),
          items: Close.Space(needed: 7000, available: 8000)))),
  ]

  private static let metadata: ItemRecord = {
    var metadata = record("m", .metadata(size: 7))
    metadata.mode = 0o640
    metadata.modified = ItemTime(seconds: 1, nanoseconds: 0)
    metadata.changed = ItemTime(seconds: 1, nanoseconds: 500_000_000)
    return metadata
  }()

  private static let streams: [String: Frame] = [
    "join": .stream(.join(Join(session: counted(0x20), stream: 3))),
    "join-replacing": .stream(.join(Join(session: counted(0x20), stream: 4, replaces: 3))),
    "ack": .stream(.ack(Acknowledgement(written: 7, durable: 5))),
    "end": .stream(.end),
    "data-directory": data(0, 49, [.item(photos, nil)]),
    "data-content": data(1, 93, [.item(hello, content)]),
    "data-empty-file": data(2, 36, [.item(record("e", .file(size: 0)), nil)]),
    "data-symbolic-link": data(.max, 62, [.item(symbolicLink, nil)]),
    "data-hard-link": data(
      3, 55, [.item(record("photos/again", .hardLink(target: path("photos/hello.txt"))), nil)]),
    "data-file-full": data(4, 251, [.item(fullFile, nil)]),
    "data-owner-names": data(12, 110, [.item(namedFile, nil)]),
    "data-directory-full": data(5, 259, [.item(fullDirectory, nil)]),
    "data-metadata": data(13, 69, [.item(metadata, nil)]),
    "data-time-first": data(6, 52, [.item(oldest, nil)]),
    "data-chunk": data(
      8, 151, [.chunk(film(1 << 32..<(1 << 32) + 100), 0x7799_ffeb_8547_2433, run(0, 100))]),
    "data-base": data(
      14, 69,
      [
        .base(
          film(1 << 32..<(1 << 32) + 100), 0x7799_ffeb_8547_2433,
          PieceLanes((0x0c6e_fe5c, 0x2ca1_a1f8, 0x9950_0bc4)))
      ]),
    "data-hole": data(9, 57, [.hole(film(1..<Limits.fileSize, isHole: true), 0x23fa_5071_a4f6_74c7)]),
    "data-mixed": data(
      10, 390,
      [
        .item(photos, nil), .item(hello, content),
        .chunk(film(0..<3), 0xc142_1b9d_88a2_cb37, ascii("abc")),
        .hole(film(3..<4096, isHole: true), 0x502b_0566_173e_be85),
        .chunk(film(4096..<4099), 0x8a8e_bcea_3f3f_d0fb, ascii("xyz")),
        .item(record("photos/film.mov", .file(size: 4099)), nil),
        .item(
          ItemRecord(
            path: try! ArchivePath([0x80] + ascii(" a%20b")), generation: counted(0xA0),
            body: .symbolicLink(target: ascii("."))), nil),
      ]),
  ]

  private static func data(_ sequence: UInt64, _ length: Int, _ pieces: [Frame.Piece]) -> Frame {
    .data(DataHeader(sequence: sequence, encoding: .plain, plainLength: length), pieces)
  }

  private static func record(_ name: String, _ body: ItemRecord.Body) -> ItemRecord {
    ItemRecord(path: path(name), generation: counted(0xA0), body: body)
  }

  private static func film(_ range: Range<UInt64>, isHole: Bool = false) -> FilePiece {
    FilePiece(path: path("photos/film.mov"), generation: counted(0xA0), range: range, isHole: isHole)
  }

  private static let content = Frame.Content(check: 0xea58_9eb8_2bb6_b605, data: ascii("Hello, peer!\n"))

  private static let photos = ItemRecord(
    path: path("photos"), generation: counted(0xA0), body: .directory, mode: 0o755,
    modified: ItemTime(seconds: 0, nanoseconds: 0))

  private static let hello = ItemRecord(
    path: path("photos/hello.txt"), generation: counted(0xA0), body: .file(size: 13), mode: 0o644,
    modified: ItemTime(seconds: 1_700_000_000, nanoseconds: 5))

  private static let oldest = ItemRecord(
    path: path("old"), generation: counted(0xA0), body: .file(size: 0),
    modified: ItemTime(seconds: .min, nanoseconds: 999_999_999))

  private static let symbolicLink = {
    var record = Expected.record("l", .symbolicLink(target: ascii("../a%20b/") + [0xFF]))
    record.modified = ItemTime(seconds: 1, nanoseconds: 999_999_999)
    record.owner = ItemRecord.Owner(user: 0, group: .max)
    return record
  }()

  private static let namedFile = {
    var record = Expected.record("o", .file(size: 0))
    record.owner = ItemRecord.Owner(user: 1001, group: 50)
    record.accessList = [
      AccessEntry(subject: .owner, permissions: 6, id: 0), AccessEntry(subject: .user, permissions: 4, id: 1002),
      AccessEntry(subject: .groupOwner, permissions: 4, id: 0), AccessEntry(subject: .mask, permissions: 4, id: 0),
      AccessEntry(subject: .other, permissions: 0, id: 0),
    ]
    record.names = [
      OwnerName(.user, 1001, ascii("bob")), OwnerName(.user, 1002, ascii("ann")), OwnerName(.group, 50, ascii("staff")),
    ]
    return record
  }()

  private static let fullFile = {
    var record = Expected.record("big", .file(size: Limits.fileSize))
    record.mode = 0o7777
    record.modified = ItemTime(seconds: -1, nanoseconds: 500_000_000)
    record.owner = ItemRecord.Owner(user: 1000, group: 100)
    record.attributes = attributes
    record.accessList = accessList
    return record
  }()

  private static let fullDirectory = {
    var record = Expected.record("d", .directory)
    record.mode = 0o2775
    record.modified = ItemTime(seconds: .max, nanoseconds: 0)
    record.owner = ItemRecord.Owner(user: 1, group: 2)
    record.attributes = attributes
    record.accessList = accessList
    record.defaultAccessList = [
      AccessEntry(subject: .owner, permissions: 7, id: 0), AccessEntry(subject: .groupOwner, permissions: 5, id: 0),
      AccessEntry(subject: .other, permissions: 0, id: 0),
    ]
    return record
  }()

  private static let attributes = [
    ExtendedAttribute(name: ascii("user.a"), value: []),
    ExtendedAttribute(name: ascii("user.mime_type"), value: ascii("text/plain")),
    ExtendedAttribute(name: ascii("user.z"), value: run(0, 100)),
  ]

  private static let accessList = [
    AccessEntry(subject: .owner, permissions: 6, id: 0), AccessEntry(subject: .user, permissions: 7, id: 1000),
    AccessEntry(subject: .groupOwner, permissions: 4, id: 0), AccessEntry(subject: .group, permissions: 5, id: .max),
    AccessEntry(subject: .mask, permissions: 7, id: 0), AccessEntry(subject: .other, permissions: 0, id: 0),
  ]
}

extension ByteRanges {
  /// The set of all bytes in `ranges`.
  init(_ ranges: [Range<UInt64>]) {
    self.init()
    for range in ranges { insert(range) }
  }
}
