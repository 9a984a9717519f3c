/// The configuration of an extension. A migration extension has no choices.
public protocol AppExtensionConfiguration {}
