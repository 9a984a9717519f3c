extension DestinationTraits {
  package func refusal(of record: ItemRecord) -> RefusalReason? { nil }
}
