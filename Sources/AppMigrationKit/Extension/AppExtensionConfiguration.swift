/// How an extension is configured. For migration extensions there is nothing to choose.
public protocol AppExtensionConfiguration {}
