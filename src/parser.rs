//! Physical lines in, events out: assembles what an envelope split, keeps the kubelet's own lines, reads times.
