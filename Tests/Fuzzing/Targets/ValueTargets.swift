import FuzzDriver

extension FuzzTarget {
  /// The small values below the engines.
  static let values = [
    FuzzTarget("admission", "the admission of connections", longest: 24, memory: 4096) { input in
      var walk = AdmissionWalk(input)
      walk.run()
    },
    FuzzTarget("codes", "codes, tries and delays", longest: 128) { input in
      var walk = CodesWalk(input)
      walk.run()
    },
    FuzzTarget("race", "the race of a device's addresses, and the pauses between attempts", longest: 64) { input in
      walkRace(InputBytes(input))
    },
    FuzzTarget("stream-count", "the number of data streams", longest: 160) { walkStreamCount(InputBytes($0)) },
    FuzzTarget("stream-ends", "both ends of a data stream", longest: 64) { walkStream(InputBytes($0)) },
    FuzzTarget("ranges", "sets of byte positions", longest: 64) { walkRanges(InputBytes($0)) },
    FuzzTarget("sessions", "both ends of the conversation on a control connection", longest: 128) { input in
      var walk = SessionWalk(input)
      walk.run()
    },
    FuzzTarget("channel", "bytes of a control connection, and its heartbeats", longest: 128) { input in
      var walk = ChannelWalk(input)
      walk.run()
    },
  ]
}
