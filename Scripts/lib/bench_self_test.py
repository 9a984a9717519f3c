def self_test(*_):
    raise NotImplementedError
