import MigrationWire

/// The reports about the parts of a plan to the sender's user and to the receiver.
extension SenderEngine.Facts {
  /// The receiver has judged a part.
  mutating func take(_ judged: Verdict.Judgement, of part: UInt16) {
    guard let summary = summaries?[Int(part)] else { preconditionFailure("a verdict answers a plan") }
    transfer[part].begin()
    switch judged {
    case .refused(let close): noteFailure(of: part, by: fault(told: close, of: part))
    case .taken(let without):
      let names = without.map { summary.contents.roots[Int($0.root)].name }
      transfer[part].refusedRoots = names
      actions += zip(without, names).map { root, name in
        let fault = fault(told: Close(root.code, "it does not take this", name: name), of: part)
        return .tell(.partEnded(PartEnd(part, Part(summary).name, root: name, fault)), part: part)
      }
    case .finished:
      actions += transfer[part].takeEarlierNames().map { .tell($0, part: part) }
      tellEnd(of: part)
    }
  }

  /// What the receiver says of a part, with this user's own words for the keys of its roots.
  func fault(told close: Close, of part: UInt16?) -> Failure {
    guard let name = close.name, let part, let places = summaries?[Int(part)].places else {
      return Failure(told: close)
    }
    let root = Array(name.prefix { $0 != UInt8(ascii: "/") })
    return Failure(told: places[root].map { close.named($0 + name.dropFirst(root.count)) } ?? close)
  }

  /// A part has failed, of which the user hears where there are several.
  mutating func noteFailure(of part: UInt16, by fault: Failure) {
    transfer[part].fail(by: fault)
    guard let summaries, summaries.count > 1 else { return }
    act(.tell(.partEnded(PartEnd(part, Part(summaries[Int(part)]).name, fault))))
  }

  /// Tells the user that one of several parts has arrived, in this run or an earlier one.
  mutating func tellEnd(of part: UInt16) {
    guard let summaries, summaries.count > 1, case .success(let result)? = transfer[part].outcome else { return }
    act(.tell(.partEnded(PartEnd(part, Part(summaries[Int(part)]).name, result))))
  }
}

extension SourceSummary {
  /// The totals for the offer of this part.
  func totals(_ part: UInt16, isEstimate: Bool = false) -> PartTotals {
    PartTotals(
      part: part, items: total.items, bytes: total.bytes, allocated: allocated,
      flags: self.isEstimate || isEstimate ? .estimated : [])
  }

  /// The reason why data is not compressed, as a clause; nil where it may be compressed.
  func obstacle(to peer: Greeting, _ settings: SenderEngine.Settings) -> String? {
    if !isCompressible { return "its exporter does not want the data to be compressed" }
    if !settings.canCompress { return "nothing is compressed: libzstd.so.1 is not on this device" }
    if !peer.features.intersection(settings.greeting.features).contains(.zstd) {
      return "nothing is compressed: the other device cannot decompress"
    }
    return nil
  }
}
