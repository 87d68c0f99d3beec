"""C30, R3: float16 averages and scales over 8 ranks, alone and fused."""
import numpy
import reigen


def reduced(value, count, **options):
    """One tensor alone, and twenty that may be fused: all with the same bits."""
    data = numpy.full(count, value, dtype=numpy.float16)
    alone = reigen.allreduce(data, name="alone", **options)
    handles = [reigen.allreduce_async(data, name="fused.%d" % i, **options) for i in range(20)]
    for handle in handles:
        assert reigen.synchronize(handle).tobytes() == alone.tobytes()
    assert len(set(alone.tolist())) == 1 or numpy.isnan(alone).any()
    return alone


def main():
    reigen.init()
    size = reigen.size()
    for count in (1, 7, 1000, 100003):
        average = reduced(60000, count, op=reigen.Average)
        assert (average == 60000).all(), average[:4]
        # One part in the last place of the smallest numbers, and not zero.
        tiny = numpy.float16(6e-8)
        average = reduced(tiny, count, op=reigen.Average)
        assert (average == tiny).all(), average[:4]
        total = reduced(60000, count, op=reigen.Sum)
        assert numpy.isposinf(total).all(), total[:4]
        scaled = reduced(60000, count, op=reigen.Sum, prescale_factor=0.25, postscale_factor=0.5)
        exact = 60000 * size / 8
        assert (scaled == numpy.float16(exact)).all(), (scaled[:4], exact)
    reigen.shutdown()


if __name__ == "__main__":
    main()
