import Expectations
import MigrationEngine
import MigrationTransfer
import MigrationWire
import PeerTransfer
import Testing

@testable import peer

@Suite final class HumanReportTests {
  private var log = HumanReport(.receiver, on: .log)
  private var terminal = HumanReport(.receiver, on: .terminal(.plain))

  private func said(_ event: TransferEvent) -> String {
    let rendering = log.handle(event, at: Samples.moment())
    expect(rendering.standardOutput.isEmpty)
    return rendering.standardError
  }

  @Test func `the receiver shows the command for the other device`() {
    expect(
      said(.listening(Listening(addresses: ["192.0.2.7", "2001:db8::1"], port: 47470))),
      is: """
        On the other device:  peer send PATH... --to 192.0.2.7

        """)
    expect(
      said(.code(PairingCode(number: 4_829_136), lifetime: 600)), is: "Code: 4829-1367   (works once, for 10 minutes)\n"
    )
    expect(
      said(.code(PairingCode(number: 4_829_136), lifetime: 600, place: RelayPlace(number: 5724))),
      is: "New code: 5724-4829-1367   (works once, for 10 minutes)\n")
    expect(
      said(.code(PairingCode(number: 0), lifetime: 90)), is: "New code: 0000-0000   (works once, for 90 seconds)\n")
    expect(
      said(.code(PairingCode(number: 0), lifetime: 30)),
      is: "Code (unchanged): 0000-0000   (works once, for 30 seconds)\n")
    expect(said(.listening(Listening(addresses: [], port: 5))), is: "Listening on port 5.\n")
    expect(
      said(.listening(Listening(addresses: ["192.0.2.7"], port: 5, from: ["192.0.2.0/24", "fe80::1%eth0"]))),
      is: """
        On the other device:  peer send PATH... --to 192.0.2.7:5
        Only from: 192.0.2.0/24, fe80::1%eth0

        """)
  }

  @Test func `a receiver that waits says what it waits for, with the firewall's command, once`() {
    var log = HumanReport(.receiver, on: .log, behind: .ufw)
    _ = log.handle(.listening(Listening(addresses: [], port: 5, isAnnounced: true)), at: Samples.moment())
    expect(log.tick(at: Samples.moment(19)), is: Rendering())
    let text = log.tick(at: Samples.moment(20)).standardError
    expect(text.hasPrefix("Still waiting for 'peer send' on the other device, in the same network, or with --to.\n"))
    expect(text.contains("\n  sudo ufw allow 5/tcp && sudo ufw allow 5353/udp\n"))
    expect(log.tick(at: Samples.moment(60)), is: Rendering())
    _ = log.handle(.listening(Listening(addresses: [], port: 5)), at: Samples.moment())
    _ = log.handle(.paired(label: "", address: "192.0.2.7"), at: Samples.moment())
    expect(log.tick(at: Samples.moment(20)), is: Rendering())
  }

  @Test func `a sender that waits says what it waits for, and what may keep the devices apart, once`() {
    var log = HumanReport(.sender, on: .log, behind: .firewalld)
    _ = log.handle(.connecting(address: "192.0.2.7:47470"), at: Samples.moment())
    expect(log.tick(at: Samples.moment(19)), is: Rendering())
    let text = log.tick(at: Samples.moment(20)).standardError
    expect(text.hasPrefix("Still waiting for 'peer receive' at 192.0.2.7:47470: it must run on the other device"))
    expect(text.contains("A network for guests or a VPN may keep the devices apart.") && !text.contains("mdns"))
    expect(log.tick(at: Samples.moment(60)), is: Rendering())
    // The way may also close in the middle of a transfer.
    _ = log.handle(.interrupted(reason: "cut"), at: Samples.moment(30))
    expect(log.tick(at: Samples.moment(50)).standardError, is: text)
    _ = log.handle(.interrupted(reason: "cut"), at: Samples.moment(51))
    _ = log.handle(.resumed(heldBytes: 1), at: Samples.moment(52))
    expect(log.tick(at: Samples.moment(71)), is: Rendering())
    // A search depends on this device's firewall too.
    _ = log.handle(.looking, at: Samples.moment(60))
    expect(
      log.tick(at: Samples.moment(80)).standardError.contains(
        "The firewall here must allow UDP port 5353:\n  sudo firewall-cmd --add-service=mdns\n"))
    // A person may think about the code as long as they like.
    _ = log.handle(.looking, at: Samples.moment(90))
    _ = log.handle(.found(label: "new", address: "192.0.2.7"), at: Samples.moment(91))
    expect(log.tick(at: Samples.moment(120)), is: Rendering())
  }

  @Test func `a search without a result names the command for this device's firewall`() {
    expect(Firewall.ufw.explaining(.noneFound).hint?.hasSuffix("one here: sudo ufw allow 5353/udp"), is: true)
    expect(Firewall.unknown.explaining(.noneFound), is: .noneFound)
    let other = Failure(.unreachable, "no route to 192.0.2.7", hint: "Check the address.")
    expect(Firewall.ufw.explaining(other), is: other)
  }

  @Test func `a found device is named, and cannot control the terminal`() {
    expect(said(.looking), is: "Searching this network for a waiting device\n")
    expect(said(.found(label: "a\u{1B}", address: "192.0.2.7")), is: "Found $'a\\x1b' (192.0.2.7).\n")
    expect(
      said(.found(label: "new-laptop (192.0.2.7)", address: "10.77.0.66")),
      is: "Found 'new-laptop (192.0.2.7)' (10.77.0.66).\n")
  }

  @Test func `a wrong code is reported with its address and the remaining tries`() {
    expect(
      said(.wrongCode(attempt: 1, allowed: 3, from: "192.0.2.7", left: 10)), is: "Wrong code (1 of 3) from 192.0.2.7.\n"
    )
    expect(
      said(.wrongCode(attempt: 2, allowed: 3, from: "192.0.2.7", left: 9)),
      is: "Wrong code (2 of 3) from 192.0.2.7. 9 more, and no new code is shown.\n")
    expect(
      said(.wrongCode(attempt: 3, allowed: 3, from: "192.0.2.7", left: 0)), is: "Wrong code (3 of 3) from 192.0.2.7.\n")
  }

  @Test func `the end of all codes is reported with the addresses and a remedy`() {
    let two = [GuessLimit.Count(network: "192.0.2.7", count: 98), GuessLimit.Count(network: "2001:db8::/64", count: 1)]
    expect(
      said(.codesSpent(count: 99, from: two, isOver: false)),
      is: """
        Too many wrong codes (99): no new code is shown. They came from:
          192.0.2.7: 98
          2001:db8::/64: 1
        A paired device may return. Press Enter to show a new code.

        """)
    let many = (0..<99).map { GuessLimit.Count(network: "192.0.2.\($0)", count: 1) }
    let lines = said(.codesSpent(count: 99, from: many, isOver: true)).split(separator: "\n")
    expect(lines.count == 10 && lines.last == "  91 others: 91")
  }

  @Test func `texts from the other device cannot control the terminal`() {
    expect(
      said(.paired(label: "\u{1B}[2Jold\n", address: "192.0.2.7")), is: "Paired with $'\\x1b[2Jold\\n' (192.0.2.7).\n")
    expect(said(.paired(label: "", address: "192.0.2.7")), is: "Paired with 192.0.2.7.\n")
    expect(
      said(.interrupted(reason: "a\rb")), is: "Connection lost: a\\rb. Will resume when the connection returns.\n")
  }

  @Test func `a note reports a process that is not confined`() {
    expect(said(.unconfined(reason: "it would not work", directories: [[0x2F]])), is: "peer: note: it would not work\n")
    expect(said(.confined(directories: [[0x2F]])).isEmpty)
  }

  @Test func `missed messages are reported`() {
    expect(
      log.missed(1200).standardError, is: "peer: note: 1,200 messages were left out, since the output was not read\n")
    expect(log.missed(1).standardError, is: "peer: note: 1 message was left out, since the output was not read\n")
  }

  @Test(
    arguments: [
      ("linux", "", "org.example (1 item"), ("android", "googlePlay", "claimed to be from android, googlePlay (1 item"),
      ("linux", "own", "claimed to be from linux, own (1 item"), ("a\u{1B}", "", "claimed to be from a\\u{1b} (1 item"),
    ])
  func `the claimed source of an app's data is shown unless it is the usual one`(
    platform: String, store: String, expected: String
  ) {
    let app = AppIdentity(bundleIdentifier: "org.example", store: store, platform: platform, version: "1")
    let offer = Offer(contents: .app(app), items: 1, bytes: 1, allocated: 1, flags: [])
    for sentence in [offer.sentence(.sender, availableBytes: nil), offer.sentence(.receiver, availableBytes: nil)] {
      expect(sentence.contains(expected), "\(sentence)")
    }
  }

  @Test func `the offer is a sentence`() {
    expect(
      said(.offer(Samples.offer, availableBytes: 120_000_000_000)),
      is: "To receive: Docs, $'a\\xff' (1,204 items, 3.2 GB; 120 GB free here)\n")
    let roots = (0..<7).map { Root(kind: .file, name: Array("r\($0)".utf8)) }
    let offer = Offer(
      contents: .folders(roots), items: 7, bytes: 0, allocated: 0, flags: .estimated)
    expect(
      offer.sentence(.sender, availableBytes: nil), is: "To send: r0, r1, r2, r3, r4 and 2 more (about 7 items, 0 B)")
  }

  @Test func `a permanent line replaces the progress line`() {
    let drawn = terminal.handle(Samples.progress(500), at: Samples.moment(columns: 16))
    expect(drawn.standardError, is: "\r\u{1B}[2KReceiving   50%")
    let said = terminal.handle(.staged, at: Samples.moment())
    expect(said.standardError, is: "\r\u{1B}[2KAll data has arrived.\n")
    expect(terminal.clear().standardError.isEmpty)
  }

  @Test func `the terminal is redrawn at most ten times a second`() {
    _ = terminal.handle(Samples.progress(1), at: Samples.moment(0))
    expect(terminal.handle(Samples.progress(2), at: Samples.moment(0.05)), is: Rendering())
    expect(terminal.tick(at: Samples.moment(0.5)).standardError.contains("Receiving"))
  }

  @Test func `a log reports the transfer after a failed one from its beginning`() {
    _ = said(.listening(Listening(addresses: [], port: 5)))
    expect(said(Samples.progress(1, of: 600)).isEmpty, is: false)
    expect(said(Samples.progress(1, of: 600)).isEmpty)
    _ = said(.failed(Failure(.failed, "it failed")))
    expect(said(Samples.progress(1, of: 600)).isEmpty, is: false)
  }

  @Test func `a log gets a line per phase, and a line a minute`() {
    var lines: [String] = []
    for tick in 0...600 {
      let rendering = log.handle(Samples.progress(UInt64(tick), of: 600), at: Samples.moment(Double(tick) / 10))
      if !rendering.standardError.isEmpty { lines.append(rendering.standardError) }
    }
    expect(lines.count, is: 2)
    expect(lines.last, is: "receiving: 100 %, 600 B of 600 B, 1/2 items, 10 B/s\n")
    expect(log.handle(.importing, at: Samples.moment(60)).standardError, is: "importing\n")
    expect(log.tick(at: Samples.moment(121)), is: Rendering())
  }

  @Test func `the result clears the line and goes to standard output`() {
    _ = terminal.handle(Samples.progress(1000), at: Samples.moment())
    let rendering = terminal.handle(.done(Samples.result()), at: Samples.moment())
    expect(rendering.standardError, is: "\r\u{1B}[2K")
    expect(rendering.standardOutput, is: "Received 1,204 items, 3.2 GB: 2.9 GB over the wire in 14.2 s (204 MB/s).\n")
  }

  @Test func `the result names earlier data, and the rate counts bytes on the network`() {
    expect(
      Samples.result(held: 1_200_000_000, sent: 2_000_000_000, seconds: 10).text(.sender, NotStoredList()),
      is: "Sent 1,204 items, 3.2 GB (1.2 GB of it earlier): 2.0 GB over the wire in 10.0 s (200 MB/s).\n")
    expect(
      Samples.result(held: 3_200_000_000, sent: 0, seconds: 0.2).text(.sender, NotStoredList()),
      is: "Sent 1,204 items, 3.2 GB (3.2 GB of it earlier), in 0.2 s.\n")
  }

  @Test func `a result of an earlier run is not reported as a new one`() {
    let result = Samples.result(held: 3_200_000_000, sent: 0, concludedAt: 1_795_223_022)
    let texts = [result.text(.sender, NotStoredList()), result.text(.receiver, NotStoredList())]
    for (text, verb) in zip(texts, ["Sent", "Received"]) {
      expect(
        text,
        is: """
          \(verb) nothing: 1,204 items, 3.2 GB had arrived by 2026-11-21T01:03:42Z, in an earlier run.
          To transfer newer data, start the same command on both devices again.

          """)
    }
  }

  @Test func `the result names the bytes on the network and the uncompressed bytes`() {
    expect(
      Samples.result(saved: 2_300_000_000).text(.sender, NotStoredList()),
      is: "Sent 1,204 items, 3.2 GB: 600 MB over the wire, compressed from 2.9 GB, in 14.2 s (42.3 MB/s).\n")
  }

  @Test func `missing items and losses are named`() {
    expect(said(.notStored(Samples.unsent)).isEmpty)
    expect(said(.notStored(Samples.socket)).isEmpty)
    let losses = [
      Done.Loss(kind: .owner, count: 3), Done.Loss(kind: .hardLink, count: 1), Done.Loss(kind: .setIDBit, count: 1),
    ]
    let rendering = log.handle(.done(Samples.result(unsent: 2, losses: losses)), at: Samples.moment())
    expect(
      rendering.standardOutput,
      is: """
        Received 1,204 items, 3.2 GB: 2.9 GB over the wire in 14.2 s (204 MB/s).
        2 items could not be sent:
          $'a/\\x1b\\xff': cannot be read (Permission denied)
          a/socket: is not a file, folder or link
        The owners of 3 items could not be kept.
        1 hard link became a file of its own.
        The set-user-ID or set-group-ID bits of 1 item were dropped; 'peer receive --owners --set-id-bits' keeps them.
        To complete the transfer, run both commands again, with 'peer receive --existing skip'.

        """)
  }

  @Test func `only items that are not stored at the end are named`() {
    for name in ["kept.mkv", "gone.mkv"] {
      _ = said(.notStored(NotStored(path: Array(name.utf8), .tooLarge)))
    }
    func lines(_ count: UInt64) -> [Substring] {
      log.handle(.done(Samples.result(notStored: count)), at: Samples.moment()).standardOutput
        .split(separator: "\n").dropFirst().map { $0 }
    }
    expect(lines(2).first == "2 items could not be stored at the destination:" && lines(2).count == 4)
    expect(lines(1).first, is: "1 item could not be stored at the destination.")
    expect(lines(0), is: [])
  }

  @Test func `attributes that are not transferred are named, a line each`() {
    let behind = [
      LostAttribute(name: Array("security.capability".utf8), count: 1),
      LostAttribute(name: [0x61, 0x1B], count: 3_000),
      LostAttribute(name: Array("chattr +i".utf8), count: 2), LostAttribute(name: Array("hard link".utf8), count: 2),
    ]
    let text = Samples.result(lostAttributes: behind).text(.receiver, NotStoredList())
    expect(
      text.split(separator: "\n").dropFirst(),
      is: [
        "1 item has the attribute security.capability, which is not transferred.",
        "3,000 items have the attribute $'a\\x1b', which is not transferred.",
        "2 items have the attribute 'chattr +i', which is not transferred.",
        "2 hard links of symbolic links became symbolic links of their own.",
      ])
  }

  @Test func `the first of many missing items are named`() {
    for number in (0..<30).reversed() {
      _ = said(.notStored(NotStored(path: Array("f\(number)".utf8), .vanished)))
    }
    let lines = log.handle(.done(Samples.result(unsent: 31)), at: Samples.moment()).standardOutput.split(
      separator: "\n")
    expect(lines.count, is: 24)
    expect(lines[1], is: "31 items could not be sent:")
    expect(lines[3], is: "  f11: vanished before it was sent")
    expect(lines[21], is: "  f29: vanished before it was sent")
    expect(lines[22], is: "  and 11 more")
    expect(
      lines[23], is: "To complete the transfer, run both commands again, with 'peer receive --existing skip'.")
  }

  @Test func `a failure is an error with a hint`() {
    _ = terminal.handle(Samples.progress(1), at: Samples.moment())
    let rendering = terminal.fail(Failure(.unreachable, "the other device is gone", hint: "start again"))
    expect(
      rendering.standardError, is: "\r\u{1B}[2Kpeer: error: the other device is gone\npeer: hint: start again\n")
    expect(rendering.standardOutput.isEmpty)
    expect(terminal.fail(Failure(.failed, "no")).standardError, is: "peer: error: no\n")
  }

  @Test func `existing, differing and renamed items are reported`() {
    var log = HumanReport(.receiver, on: .log)
    _ = log.handle(.notStored(NotStored(path: Array("a/b".utf8), .existsAndDiffers)), at: Samples.moment())
    _ = log.handle(.renamed(path: Array("c".utf8), target: Array("c (2)".utf8)), at: Samples.moment())
    let result = Samples.result(leftOut: LeftOut(present: 4_000, differing: 1))
    let lines = log.handle(.done(result), at: Samples.moment()).standardOutput.split(separator: "\n")
    expect(
      lines.dropFirst(),
      is: [
        "4,000 items existed already.", "1 item exists at the destination and differs; the existing item was kept:",
        "  a/b",
        "'c' was saved as 'c (2)'.",
      ])
    // The other device cannot name all of them.
    _ = log.handle(.renamed(path: Array("c".utf8), target: Array("c (2)".utf8)), at: Samples.moment())
    expect(
      log.handle(.done(Samples.result(renamed: 1_500)), at: Samples.moment()).standardOutput.contains(
        "'c' was saved as 'c (2)'.\n  and 1,499 more\n"))
    expect(ExitCode.of(result, unsent: log.unsent), is: ExitCode.done)
  }

  @Test func `one sentence says that nothing was taken, and how it follows`() {
    var text = said(.plan(Array(Samples.parts.prefix(2)), availableBytes: nil))
    for number in 0..<2 { text += said(.partEnded(PartEnd(UInt16(number), "a", .notTaken))) }
    let end = log.handle(.failed(Failure.notTaken), at: Samples.moment())
    text += end.standardError + end.standardOutput
    expect(text.components(of: "you did not take it") == 1 && text.components(of: "answer with 'all'") == 1, "\(text)")
  }

  @Test func `an offer of keys is named by its part`() {
    let roots = [Root(kind: .directory, name: Array("documents".utf8))]
    let part = Part(.role(Part.home, roots), name: "Dokumente")
    let offer = Offer(contents: .role(Part.home, roots), items: 1, bytes: 2, allocated: 2, flags: [])
    expect(offer.sentence(.sender, of: part, availableBytes: nil), is: "To send: Dokumente (1 item, 2 B)")
  }
}

extension String {
  /// How often some words stand in it.
  fileprivate func components(of words: String) -> Int {
    split(separator: words, omittingEmptySubsequences: false).count - 1
  }
}
