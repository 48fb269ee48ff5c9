//! Queries of TPC-H with the specification's validation parameters, and a star join.

/// A name and a query.
pub const QUERIES: [(&str, &str); 9] = [
    (
        "Q3",
        "SELECT l_orderkey, sum(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate, o_shippriority \
        FROM customer, orders, lineitem \
        WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey \
          AND o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15' \
        GROUP BY l_orderkey, o_orderdate, o_shippriority ORDER BY revenue DESC, o_orderdate LIMIT 10",
    ),
    (
        "Q5",
        "SELECT n_name, sum(l_extendedprice * (1 - l_discount)) AS revenue \
        FROM customer, orders, lineitem, supplier, nation, region \
        WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey \
          AND c_nationkey = s_nationkey AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey \
          AND r_name = 'ASIA' AND o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' \
        GROUP BY n_name ORDER BY revenue DESC",
    ),
    (
        "Q8",
        "SELECT o_year, sum(CASE WHEN nation = 'BRAZIL' THEN volume ELSE 0 END) / sum(volume) AS mkt_share FROM ( \
          SELECT extract(year FROM o_orderdate) AS o_year, l_extendedprice * (1 - l_discount) AS volume, n2.n_name AS nation \
          FROM part, supplier, lineitem, orders, customer, nation n1, nation n2, region \
          WHERE p_partkey = l_partkey AND s_suppkey = l_suppkey AND l_orderkey = o_orderkey AND o_custkey = c_custkey \
            AND c_nationkey = n1.n_nationkey AND n1.n_regionkey = r_regionkey AND r_name = 'AMERICA' \
            AND s_nationkey = n2.n_nationkey AND o_orderdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31' \
            AND p_type = 'ECONOMY ANODIZED STEEL') AS all_nations GROUP BY o_year ORDER BY o_year",
    ),
    (
        "Q10",
        "SELECT c_custkey, c_name, sum(l_extendedprice * (1 - l_discount)) AS revenue, c_acctbal, n_name, c_address, c_phone, c_comment \
        FROM customer, orders, lineitem, nation \
        WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND o_orderdate >= DATE '1993-10-01' \
          AND o_orderdate < DATE '1994-01-01' AND l_returnflag = 'R' AND c_nationkey = n_nationkey \
        GROUP BY c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment ORDER BY revenue DESC, c_custkey LIMIT 20",
    ),
    (
        "Q12",
        "SELECT l_shipmode, sum(CASE WHEN o_orderpriority = '1-URGENT' OR o_orderpriority = '2-HIGH' THEN 1 ELSE 0 END) AS high, \
          sum(CASE WHEN o_orderpriority <> '1-URGENT' AND o_orderpriority <> '2-HIGH' THEN 1 ELSE 0 END) AS low \
        FROM orders, lineitem \
        WHERE o_orderkey = l_orderkey AND l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate \
          AND l_shipdate < l_commitdate AND l_receiptdate >= DATE '1994-01-01' AND l_receiptdate < DATE '1995-01-01' \
        GROUP BY l_shipmode ORDER BY l_shipmode",
    ),
    (
        "Q17",
        "SELECT sum(l_extendedprice) / 7.0 AS avg_yearly FROM lineitem, part \
        WHERE p_partkey = l_partkey AND p_brand = 'Brand#23' AND p_container = 'MED BOX' \
          AND l_quantity < (SELECT 0.2 * avg(l_quantity) FROM lineitem WHERE l_partkey = p_partkey)",
    ),
    (
        "Q18",
        "SELECT c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity) AS quantity \
        FROM customer, orders, lineitem \
        WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING sum(l_quantity) > 300) \
          AND c_custkey = o_custkey AND o_orderkey = l_orderkey \
        GROUP BY c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice ORDER BY o_totalprice DESC, o_orderdate LIMIT 100",
    ),
    (
        "Q21",
        "SELECT s_name, count(*) AS numwait FROM supplier, lineitem l1, orders, nation \
        WHERE s_suppkey = l1.l_suppkey AND o_orderkey = l1.l_orderkey AND o_orderstatus = 'F' \
          AND l1.l_receiptdate > l1.l_commitdate \
          AND EXISTS (SELECT * FROM lineitem l2 WHERE l2.l_orderkey = l1.l_orderkey AND l2.l_suppkey <> l1.l_suppkey) \
          AND NOT EXISTS (SELECT * FROM lineitem l3 WHERE l3.l_orderkey = l1.l_orderkey AND l3.l_suppkey <> l1.l_suppkey \
            AND l3.l_receiptdate > l3.l_commitdate) \
          AND s_nationkey = n_nationkey AND n_name = 'SAUDI ARABIA' \
        GROUP BY s_name ORDER BY numwait DESC, s_name LIMIT 100",
    ),
    (
        "star",
        "SELECT p_brand, count(*) AS lines, sum(l_quantity) AS quantity FROM lineitem, orders, part, supplier \
        WHERE l_orderkey = o_orderkey AND l_partkey = p_partkey AND l_suppkey = s_suppkey \
          AND o_orderdate < DATE '1992-03-01' AND p_size < 10 AND s_acctbal > 0 \
        GROUP BY p_brand ORDER BY p_brand",
    ),
];
