BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0002');
CREATE TABLE arms (
	experiment INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	position INTEGER NOT NULL, 
	in_play BOOLEAN NOT NULL, 
	changed_at DOUBLE NOT NULL, 
	PRIMARY KEY (experiment, name), 
	FOREIGN KEY(experiment) REFERENCES experiments (id)
);
INSERT INTO "arms" VALUES(1,'slow',0,1,1.79494433455561733245e+09);
INSERT INTO "arms" VALUES(1,'fast',1,1,1.79494433455561733245e+09);
CREATE TABLE audit (
	id INTEGER NOT NULL, 
	at DOUBLE NOT NULL, 
	"key" TEXT NOT NULL, 
	action TEXT NOT NULL, 
	target TEXT NOT NULL, 
	detail TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "audit" VALUES(1,1.7949443345731937885e+09,'a3feb2da8b1f','create','to-work','{"policy": {"type": "NPTS"}, "arms": ["slow", "fast"], "preference": {"name": "expected_value", "costs": true}, "rewards": {"type": "Bounded", "low": 0.0, "high": 60.0}, "terms": null, "features": null, "expires_after": 86400.0, "propensity_draws": 0, "apprentice": false, "seed": 1, "unit": "minutes"}');
INSERT INTO "audit" VALUES(2,1.79494433492342329028e+09,'a3feb2da8b1f','put person','joe','"expected_value"');
INSERT INTO "audit" VALUES(3,1.79494433493409013746e+09,'a3feb2da8b1f','put person','ann','"tversky_kahneman"');
INSERT INTO "audit" VALUES(4,1.79494433503477191925e+09,'a3feb2da8b1f','import','to-work','160');
CREATE TABLE decisions (
	experiment INTEGER NOT NULL, 
	number BIGINT NOT NULL, 
	arm TEXT NOT NULL, 
	person TEXT, 
	"key" TEXT, 
	asked_at DOUBLE NOT NULL, 
	propensity DOUBLE, 
	state TEXT NOT NULL, 
	outcome DOUBLE, 
	closed_at DOUBLE, 
	closing_key TEXT, 
	detail TEXT, 
	PRIMARY KEY (experiment, number), 
	FOREIGN KEY(experiment) REFERENCES experiments (id)
)
 WITHOUT ROWID

;
INSERT INTO "decisions" VALUES(1,1,'fast',NULL,NULL,1.79494433505959987643e+09,NULL,'open',NULL,NULL,NULL,'{"why":"fast is worth most so far: -14.94, by 80 outcomes"}');
INSERT INTO "decisions" VALUES(1,2,'slow','joe',NULL,1.79494433508522272108e+09,NULL,'told',41.0625,1.79494433510233783717e+09,NULL,'{"why":"slow is worth most so far: 44.94, by 80 outcomes"}');
INSERT INTO "decisions" VALUES(1,3,'fast','ann',NULL,1794944335.11035,NULL,'told',11.125,1.79494433514685463909e+09,NULL,'{"why":"fast is worth most so far: 10.44, by 80 outcomes"}');
INSERT INTO "decisions" VALUES(1,4,'fast',NULL,NULL,1.79494433514910292628e+09,NULL,'told',11.1875,1.79494433515256834031e+09,NULL,'{"why":"fast is worth most so far: -14.89, by 81 outcomes"}');
INSERT INTO "decisions" VALUES(1,5,'slow','joe',NULL,1.79494433516070604327e+09,NULL,'told',41.25,1.79494433517054247854e+09,NULL,'{"why":"slow is worth most so far: 44.89, by 81 outcomes"}');
INSERT INTO "decisions" VALUES(1,6,'fast','ann',NULL,1.79494433517224168776e+09,NULL,'told',11.3125,1.79494433517407464984e+09,NULL,'{"why":"fast is worth most so far: 10.47, by 82 outcomes"}');
INSERT INTO "decisions" VALUES(1,7,'fast',NULL,NULL,1.79494433517555952066e+09,NULL,'told',11.375,1.7949443351769549847e+09,NULL,'{"why":"fast is worth most so far: -14.8, by 83 outcomes"}');
INSERT INTO "decisions" VALUES(1,8,'slow','joe',NULL,1.79494433517852091785e+09,NULL,'told',41.4375,1.79494433518034172056e+09,NULL,'{"why":"slow is worth most so far: 44.85, by 82 outcomes"}');
INSERT INTO "decisions" VALUES(1,9,'fast','ann',NULL,1.79494433518172264102e+09,NULL,'told',11.5,1.7949443351834793091e+09,NULL,'{"why":"fast is worth most so far: 10.5, by 84 outcomes"}');
INSERT INTO "decisions" VALUES(1,10,'fast',NULL,NULL,1.79494433518482637401e+09,NULL,'told',11.5625,1.79494433518613219265e+09,NULL,'{"why":"fast is worth most so far: -14.72, by 85 outcomes"}');
INSERT INTO "decisions" VALUES(1,11,'slow','joe',NULL,1.794944335566286087e+09,NULL,'open',NULL,NULL,NULL,'{"why":"slow is worth most so far: 44.8, by 83 outcomes"}');
INSERT INTO "decisions" VALUES(1,12,'fast','ann',NULL,1.7949443355706617832e+09,NULL,'told',11.6875,1.79494433558055233954e+09,NULL,'{"why":"fast is worth most so far: 10.53, by 86 outcomes"}');
INSERT INTO "decisions" VALUES(1,13,'fast',NULL,NULL,1.79494433558467531204e+09,NULL,'told',11.75,1.79494433558837437631e+09,NULL,'{"why":"fast is worth most so far: -14.65, by 87 outcomes"}');
INSERT INTO "decisions" VALUES(1,14,'slow','joe',NULL,1.79494433559240651127e+09,NULL,'told',41.8125,1.79494433559629869463e+09,NULL,'{"why":"slow is worth most so far: 44.8, by 83 outcomes"}');
INSERT INTO "decisions" VALUES(1,15,'fast','ann',NULL,1.79494433560044097902e+09,NULL,'told',11.875,1.79494433560448312758e+09,NULL,'{"why":"fast is worth most so far: 10.56, by 88 outcomes"}');
INSERT INTO "decisions" VALUES(1,16,'fast',NULL,NULL,1.79494433561443686485e+09,NULL,'told',11.9375,1.79494433562056827542e+09,NULL,'{"why":"fast is worth most so far: -14.59, by 89 outcomes"}');
INSERT INTO "decisions" VALUES(1,17,'slow','joe',NULL,1.79494433562457013126e+09,NULL,'told',42.0,1.7949443356348502636e+09,NULL,'{"why":"slow is worth most so far: 44.77, by 84 outcomes"}');
INSERT INTO "decisions" VALUES(1,18,'fast','ann',NULL,1.79494433564122319226e+09,NULL,'told',12.0625,1.79494433564484858509e+09,NULL,'{"why":"fast is worth most so far: 10.58, by 90 outcomes"}');
INSERT INTO "decisions" VALUES(1,19,'fast',NULL,NULL,1.79494433565251040462e+09,NULL,'told',12.125,1.79494433565645122525e+09,NULL,'{"why":"fast is worth most so far: -14.53, by 91 outcomes"}');
INSERT INTO "decisions" VALUES(1,20,'slow','joe',NULL,1.7949443356604342461e+09,NULL,'told',42.1875,1.794944335664447546e+09,NULL,'{"why":"slow is worth most so far: 44.74, by 85 outcomes"}');
INSERT INTO "decisions" VALUES(1,21,'fast','ann',NULL,1.79494433566840505597e+09,NULL,'open',NULL,NULL,NULL,'{"why":"fast is worth most so far: 10.6, by 92 outcomes"}');
INSERT INTO "decisions" VALUES(1,22,'fast',NULL,NULL,1.79494433567235970499e+09,NULL,'told',12.3125,1.79494433567558884625e+09,NULL,'{"why":"fast is worth most so far: -14.51, by 92 outcomes"}');
INSERT INTO "decisions" VALUES(1,23,'slow','joe',NULL,1.79494433568041396138e+09,NULL,'told',42.375,1.79494433568454670908e+09,NULL,'{"why":"slow is worth most so far: 44.71, by 86 outcomes"}');
INSERT INTO "decisions" VALUES(1,24,'fast','ann',NULL,1.79494433568842434887e+09,NULL,'told',12.4375,1.79494433569219231602e+09,NULL,'{"why":"fast is worth most so far: 10.61, by 93 outcomes"}');
INSERT INTO "decisions" VALUES(1,25,'fast',NULL,NULL,1.79494433569663953782e+09,NULL,'told',12.5,1.7949443357004446983e+09,NULL,'{"why":"fast is worth most so far: -14.46, by 94 outcomes"}');
INSERT INTO "decisions" VALUES(1,26,'slow','joe',NULL,1.79494433570449447631e+09,NULL,'told',42.5625,1.79494433570650172233e+09,NULL,'{"why":"slow is worth most so far: 44.68, by 87 outcomes"}');
INSERT INTO "decisions" VALUES(1,27,'fast','ann',NULL,1.79494433571245622636e+09,NULL,'told',12.625,1.79494433571695685388e+09,NULL,'{"why":"fast is worth most so far: 10.63, by 95 outcomes"}');
INSERT INTO "decisions" VALUES(1,28,'fast',NULL,NULL,1.79494433572050690649e+09,NULL,'told',12.6875,1.79494433572232580187e+09,NULL,'{"why":"fast is worth most so far: -14.42, by 96 outcomes"}');
INSERT INTO "decisions" VALUES(1,29,'slow','joe',NULL,1.79494433572407507894e+09,NULL,'told',42.75,1.79494433572587704659e+09,NULL,'{"why":"slow is worth most so far: 44.66, by 88 outcomes"}');
INSERT INTO "decisions" VALUES(1,30,'fast','ann',NULL,1.79494433572742605209e+09,NULL,'told',12.8125,1.79494433572924518578e+09,NULL,'{"why":"fast is worth most so far: 10.64, by 97 outcomes"}');
INSERT INTO "decisions" VALUES(1,31,'fast',NULL,NULL,1.79494433573089385031e+09,NULL,'open',NULL,NULL,NULL,'{"why":"fast is worth most so far: -14.39, by 98 outcomes"}');
INSERT INTO "decisions" VALUES(1,32,'slow','joe',NULL,1.79494433573246455187e+09,NULL,'told',42.9375,1.79494433573437380795e+09,NULL,'{"why":"slow is worth most so far: 44.63, by 89 outcomes"}');
INSERT INTO "decisions" VALUES(1,33,'fast','ann',NULL,1.7949443357363841534e+09,NULL,'told',13.0,1.79494433573812866211e+09,NULL,'{"why":"fast is worth most so far: 10.65, by 98 outcomes"}');
INSERT INTO "decisions" VALUES(1,34,'fast',NULL,NULL,1.79494433573964381218e+09,NULL,'told',13.0625,1.79494433574111223218e+09,NULL,'{"why":"fast is worth most so far: -14.37, by 99 outcomes"}');
INSERT INTO "decisions" VALUES(1,35,'slow','joe',NULL,1.79494433574253511431e+09,NULL,'told',43.125,1.7949443357445428372e+09,NULL,'{"why":"slow is worth most so far: 44.62, by 90 outcomes"}');
INSERT INTO "decisions" VALUES(1,36,'fast','ann',NULL,1.79494433574614238743e+09,NULL,'told',13.1875,1.7949443357479462624e+09,NULL,'{"why":"fast is worth most so far: 10.66, by 100 outcomes"}');
INSERT INTO "decisions" VALUES(1,37,'fast',NULL,NULL,1.79494433574938750267e+09,NULL,'told',13.25,1.79494433575097179413e+09,NULL,'{"why":"fast is worth most so far: -14.35, by 101 outcomes"}');
INSERT INTO "decisions" VALUES(1,38,'slow','joe',NULL,1.79494433575254035001e+09,NULL,'told',43.3125,1.79494433575426101689e+09,NULL,'{"why":"slow is worth most so far: 44.6, by 91 outcomes"}');
INSERT INTO "decisions" VALUES(1,39,'fast','ann',NULL,1.79494433575584220888e+09,NULL,'told',13.375,1.7949443357577040195e+09,NULL,'{"why":"fast is worth most so far: 10.67, by 102 outcomes"}');
INSERT INTO "decisions" VALUES(1,40,'fast',NULL,NULL,1.79494433575929188727e+09,NULL,'told',13.4375,1.79494433576072430613e+09,NULL,'{"why":"fast is worth most so far: -14.33, by 103 outcomes"}');
INSERT INTO "decisions" VALUES(1,41,'slow','joe',NULL,1.79494433576222181319e+09,NULL,'open',NULL,NULL,NULL,'{"why":"slow is worth most so far: 44.58, by 92 outcomes"}');
INSERT INTO "decisions" VALUES(1,42,'fast','ann',NULL,1.794944335764064312e+09,NULL,'told',13.5625,1.79494433576589703565e+09,NULL,'{"why":"fast is worth most so far: 10.68, by 104 outcomes"}');
INSERT INTO "decisions" VALUES(1,43,'fast',NULL,NULL,1.79494433576748371123e+09,NULL,'told',13.625,1.79494433576892280582e+09,NULL,'{"why":"fast is worth most so far: -14.31, by 105 outcomes"}');
INSERT INTO "decisions" VALUES(1,44,'slow','joe',NULL,1.79494433577045249938e+09,NULL,'told',43.6875,1.79494433577221393586e+09,NULL,'{"why":"slow is worth most so far: 44.58, by 92 outcomes"}');
INSERT INTO "decisions" VALUES(1,45,'fast','ann',NULL,1.79494433577371692656e+09,NULL,'told',13.75,1.79494433577578186992e+09,NULL,'{"why":"fast is worth most so far: 10.69, by 106 outcomes"}');
INSERT INTO "decisions" VALUES(1,46,'fast',NULL,NULL,1.79494433577762126921e+09,NULL,'told',13.8125,1.79494433577925252909e+09,NULL,'{"why":"fast is worth most so far: -14.3, by 107 outcomes"}');
INSERT INTO "decisions" VALUES(1,47,'slow','joe',NULL,1.79494433578080368049e+09,NULL,'told',43.875,1.79494433578264355657e+09,NULL,'{"why":"slow is worth most so far: 44.58, by 93 outcomes"}');
INSERT INTO "decisions" VALUES(1,48,'fast','ann',NULL,1.79494433578457093236e+09,NULL,'told',13.9375,1.79494433578692841532e+09,NULL,'{"why":"fast is worth most so far: 10.69, by 108 outcomes"}');
INSERT INTO "decisions" VALUES(1,49,'fast',NULL,NULL,1.79494433578869366646e+09,NULL,'told',14.0,1.79494433579066586491e+09,NULL,'{"why":"fast is worth most so far: -14.29, by 109 outcomes"}');
INSERT INTO "decisions" VALUES(1,50,'slow','joe',NULL,1.79494433579253983494e+09,NULL,'told',44.0625,1.79494433579455184941e+09,NULL,'{"why":"slow is worth most so far: 44.57, by 94 outcomes"}');
INSERT INTO "decisions" VALUES(1,51,'fast','ann',NULL,1.79494433579632329937e+09,NULL,'open',NULL,NULL,NULL,'{"why":"fast is worth most so far: 10.7, by 110 outcomes"}');
INSERT INTO "decisions" VALUES(1,52,'fast',NULL,NULL,1.79494433579830670356e+09,NULL,'told',14.1875,1.79494433580007934575e+09,NULL,'{"why":"fast is worth most so far: -14.29, by 110 outcomes"}');
INSERT INTO "decisions" VALUES(1,53,'slow','joe',NULL,1.79494433580432891841e+09,NULL,'told',44.25,1.79494433580863165856e+09,NULL,'{"why":"slow is worth most so far: 44.56, by 95 outcomes"}');
INSERT INTO "decisions" VALUES(1,54,'fast','ann',NULL,1.79494433581670546525e+09,NULL,'told',14.3125,1.79494433582477354999e+09,NULL,'{"why":"fast is worth most so far: 10.7, by 111 outcomes"}');
INSERT INTO "decisions" VALUES(1,55,'fast',NULL,NULL,1.79494433583160042759e+09,NULL,'told',14.375,1.79494433583970403674e+09,NULL,'{"why":"fast is worth most so far: -14.29, by 112 outcomes"}');
INSERT INTO "decisions" VALUES(1,56,'slow','joe',NULL,1794944335.85168,NULL,'told',44.4375,1.79494433586767649646e+09,NULL,'{"why":"slow is worth most so far: 44.56, by 96 outcomes"}');
INSERT INTO "decisions" VALUES(1,57,'fast','ann',NULL,1.79494433587268209452e+09,NULL,'told',14.5,1.79494433587965178484e+09,NULL,'{"why":"fast is worth most so far: 10.7, by 113 outcomes"}');
INSERT INTO "decisions" VALUES(1,58,'fast',NULL,NULL,1.79494433588939809797e+09,NULL,'told',14.5625,1.79494433589958143232e+09,NULL,'{"why":"fast is worth most so far: -14.29, by 114 outcomes"}');
INSERT INTO "decisions" VALUES(1,59,'slow','joe',NULL,1.79494433591273427008e+09,NULL,'told',44.625,1.79494433592754721639e+09,NULL,'{"why":"slow is worth most so far: 44.56, by 97 outcomes"}');
INSERT INTO "decisions" VALUES(1,60,'fast','ann',NULL,1.7949443359407753944e+09,NULL,'told',14.6875,1.79494433594520902634e+09,NULL,'{"why":"fast is worth most so far: 10.7, by 115 outcomes"}');
INSERT INTO "decisions" VALUES(1,61,'fast',NULL,NULL,1.79494433594949340821e+09,NULL,'open',NULL,NULL,NULL,'{"why":"fast is worth most so far: -14.3, by 116 outcomes"}');
INSERT INTO "decisions" VALUES(1,62,'slow','joe',NULL,1.79494433595352101329e+09,NULL,'told',44.8125,1.79494433596206521986e+09,NULL,'{"why":"slow is worth most so far: 44.56, by 98 outcomes"}');
INSERT INTO "decisions" VALUES(1,63,'fast','ann',NULL,1.79494433596389651305e+09,NULL,'told',14.875,1.79494433596582674984e+09,NULL,'{"why":"fast is worth most so far: 10.7, by 116 outcomes"}');
INSERT INTO "decisions" VALUES(1,64,'fast',NULL,NULL,1.79494433596758985521e+09,NULL,'told',14.9375,1.79494433596898722649e+09,NULL,'{"why":"fast is worth most so far: -14.3, by 117 outcomes"}');
INSERT INTO "decisions" VALUES(1,65,'slow','joe',NULL,1.79494433597066259389e+09,NULL,'told',45.0,1.79494433597244143485e+09,NULL,'{"why":"slow is worth most so far: 44.56, by 99 outcomes"}');
INSERT INTO "decisions" VALUES(1,66,'fast','ann',NULL,1.79494433597373533248e+09,NULL,'told',15.0625,1.79494433597547459603e+09,NULL,'{"why":"fast is worth most so far: 10.7, by 118 outcomes"}');
INSERT INTO "decisions" VALUES(1,67,'fast',NULL,NULL,1.79494433597675037382e+09,NULL,'told',15.125,1.79494433597801733015e+09,NULL,'{"why":"fast is worth most so far: -14.31, by 119 outcomes"}');
INSERT INTO "decisions" VALUES(1,68,'slow','joe',NULL,1.79494433598754715916e+09,NULL,'told',45.1875,1.79494433599557590489e+09,NULL,'{"why":"slow is worth most so far: 44.57, by 100 outcomes"}');
INSERT INTO "decisions" VALUES(1,69,'fast','ann',NULL,1.7949443360049498081e+09,NULL,'told',15.25,1.79494433602060341837e+09,NULL,'{"why":"fast is worth most so far: 10.7, by 120 outcomes"}');
INSERT INTO "decisions" VALUES(1,70,'fast',NULL,NULL,1.79494433603280758855e+09,NULL,'told',15.3125,1.79494433604455327991e+09,NULL,'{"why":"fast is worth most so far: -14.33, by 121 outcomes"}');
INSERT INTO "decisions" VALUES(1,71,'slow','joe',NULL,1.79494433604853749278e+09,NULL,'open',NULL,NULL,NULL,'{"why":"slow is worth most so far: 44.57, by 101 outcomes"}');
INSERT INTO "decisions" VALUES(1,72,'fast','ann',NULL,1.79494433606061863902e+09,NULL,'told',15.4375,1.79494433607274079317e+09,NULL,'{"why":"fast is worth most so far: 10.7, by 122 outcomes"}');
INSERT INTO "decisions" VALUES(1,73,'fast',NULL,NULL,1.79494433608055758478e+09,NULL,'told',15.5,1.7949443360925703049e+09,NULL,'{"why":"fast is worth most so far: -14.35, by 123 outcomes"}');
INSERT INTO "decisions" VALUES(1,74,'slow','joe',NULL,1.79494433610862565045e+09,NULL,'told',45.5625,1794944336.12059,NULL,'{"why":"slow is worth most so far: 44.57, by 101 outcomes"}');
INSERT INTO "decisions" VALUES(1,75,'fast','ann',NULL,1.79494433613682293892e+09,NULL,'told',15.625,1.79494433615562510491e+09,NULL,'{"why":"fast is worth most so far: 10.69, by 124 outcomes"}');
INSERT INTO "decisions" VALUES(1,76,'fast',NULL,NULL,1.79494433617690682413e+09,NULL,'told',15.6875,1.79494433619150519374e+09,NULL,'{"why":"fast is worth most so far: -14.37, by 125 outcomes"}');
INSERT INTO "decisions" VALUES(1,77,'slow','joe',NULL,1.79494433620481538774e+09,NULL,'told',45.75,1.79494433622083520893e+09,NULL,'{"why":"slow is worth most so far: 44.58, by 102 outcomes"}');
INSERT INTO "decisions" VALUES(1,78,'fast','ann',NULL,1794944336.23283,NULL,'told',15.8125,1.79494433625161576269e+09,NULL,'{"why":"fast is worth most so far: 10.69, by 126 outcomes"}');
INSERT INTO "decisions" VALUES(1,79,'fast',NULL,NULL,1.79494433626910686492e+09,NULL,'told',15.875,1.79494433628498053544e+09,NULL,'{"why":"fast is worth most so far: -14.39, by 127 outcomes"}');
INSERT INTO "decisions" VALUES(1,80,'slow','joe',NULL,1.79494433634487891198e+09,NULL,'told',45.9375,1.79494433635949921608e+09,NULL,'{"why":"slow is worth most so far: 44.59, by 103 outcomes"}');
INSERT INTO "decisions" VALUES(1,81,'fast','ann',NULL,1.79494433638090491295e+09,NULL,'open',NULL,NULL,NULL,'{"why":"fast is worth most so far: 10.68, by 128 outcomes"}');
INSERT INTO "decisions" VALUES(1,82,'fast',NULL,NULL,1.79494433640910267826e+09,NULL,'told',16.0625,1.79494433641682386393e+09,NULL,'{"why":"fast is worth most so far: -14.4, by 128 outcomes"}');
INSERT INTO "decisions" VALUES(1,83,'slow','joe',NULL,1.7949443364368696213e+09,NULL,'told',46.125,1.79494433645284295082e+09,NULL,'{"why":"slow is worth most so far: 44.61, by 104 outcomes"}');
INSERT INTO "decisions" VALUES(1,84,'fast','ann',NULL,1.79494433646881508832e+09,NULL,'told',16.1875,1.79494433648879575735e+09,NULL,'{"why":"fast is worth most so far: 10.68, by 129 outcomes"}');
INSERT INTO "decisions" VALUES(1,85,'fast',NULL,NULL,1.79494433650495052333e+09,NULL,'told',16.25,1.79494433652076411248e+09,NULL,'{"why":"fast is worth most so far: -14.43, by 130 outcomes"}');
INSERT INTO "decisions" VALUES(1,86,'slow','joe',NULL,1.79494433653275704387e+09,NULL,'told',46.3125,1.79494433655965113637e+09,NULL,'{"why":"slow is worth most so far: 44.62, by 105 outcomes"}');
INSERT INTO "decisions" VALUES(1,87,'fast','ann',NULL,1.79494433657548832896e+09,NULL,'told',16.375,1.79494433659048652652e+09,NULL,'{"why":"fast is worth most so far: 10.67, by 131 outcomes"}');
INSERT INTO "decisions" VALUES(1,88,'fast',NULL,NULL,1.79494433660491371157e+09,NULL,'told',16.4375,1.79494433662344908715e+09,NULL,'{"why":"fast is worth most so far: -14.45, by 132 outcomes"}');
INSERT INTO "decisions" VALUES(1,89,'slow','joe',NULL,1.79494433664070820802e+09,NULL,'told',46.5,1.79494433666092729571e+09,NULL,'{"why":"slow is worth most so far: 44.64, by 106 outcomes"}');
INSERT INTO "decisions" VALUES(1,90,'fast','ann',NULL,1.79494433667271089554e+09,NULL,'told',16.5625,1.79494433668877863882e+09,NULL,'{"why":"fast is worth most so far: 10.66, by 133 outcomes"}');
INSERT INTO "decisions" VALUES(1,91,'fast',NULL,NULL,1.79494433669676947597e+09,NULL,'open',NULL,NULL,NULL,'{"why":"fast is worth most so far: -14.48, by 134 outcomes"}');
INSERT INTO "decisions" VALUES(1,92,'slow','joe',NULL,1.79494433671956682202e+09,NULL,'told',46.6875,1.7949443367328112125e+09,NULL,'{"why":"slow is worth most so far: 44.65, by 107 outcomes"}');
INSERT INTO "decisions" VALUES(1,93,'fast','ann',NULL,1.79494433675166440008e+09,NULL,'told',16.75,1.79494433676881623264e+09,NULL,'{"why":"fast is worth most so far: 10.66, by 134 outcomes"}');
INSERT INTO "decisions" VALUES(1,94,'fast',NULL,NULL,1.79494433679118967051e+09,NULL,'told',16.8125,1.79494433680484294889e+09,NULL,'{"why":"fast is worth most so far: -14.5, by 135 outcomes"}');
INSERT INTO "decisions" VALUES(1,95,'slow','joe',NULL,1.79494433683190321923e+09,NULL,'told',46.875,1.7949443368478059769e+09,NULL,'{"why":"slow is worth most so far: 44.67, by 108 outcomes"}');
INSERT INTO "decisions" VALUES(1,96,'fast','ann',NULL,1.79494433686530423166e+09,NULL,'told',16.9375,1.79494433689021563533e+09,NULL,'{"why":"fast is worth most so far: 10.65, by 136 outcomes"}');
INSERT INTO "decisions" VALUES(1,97,'fast',NULL,NULL,1.79494433690393519406e+09,NULL,'told',17.0,1.79494433692777466773e+09,NULL,'{"why":"fast is worth most so far: -14.54, by 137 outcomes"}');
INSERT INTO "decisions" VALUES(1,98,'slow','joe',NULL,1.79494433694109463686e+09,NULL,'told',47.0625,1.79494433695516490941e+09,NULL,'{"why":"slow is worth most so far: 44.69, by 109 outcomes"}');
INSERT INTO "decisions" VALUES(1,99,'fast','ann',NULL,1.79494433695760941503e+09,NULL,'told',17.125,1.79494433697486019136e+09,NULL,'{"why":"fast is worth most so far: 10.63, by 138 outcomes"}');
INSERT INTO "decisions" VALUES(1,100,'fast',NULL,NULL,1.79494433700158381459e+09,NULL,'told',17.1875,1.7949443370085651874e+09,NULL,'{"why":"fast is worth most so far: -14.57, by 139 outcomes"}');
INSERT INTO "decisions" VALUES(1,101,'slow','joe',NULL,1.79494433702125644677e+09,NULL,'open',NULL,NULL,NULL,'{"why":"slow is worth most so far: 44.71, by 110 outcomes"}');
INSERT INTO "decisions" VALUES(1,102,'fast','ann',NULL,1.79494433703025770181e+09,NULL,'told',17.3125,1.79494433704129362108e+09,NULL,'{"why":"fast is worth most so far: 10.62, by 140 outcomes"}');
INSERT INTO "decisions" VALUES(1,103,'fast',NULL,NULL,1794944337.04401,NULL,'told',17.375,1.79494433704893517492e+09,NULL,'{"why":"fast is worth most so far: -14.61, by 141 outcomes"}');
INSERT INTO "decisions" VALUES(1,104,'slow','joe',NULL,1.79494433705299854271e+09,NULL,'told',47.4375,1.79494433705688834191e+09,NULL,'{"why":"slow is worth most so far: 44.71, by 110 outcomes"}');
INSERT INTO "decisions" VALUES(1,105,'fast','ann',NULL,1794944337.05894,NULL,'told',17.5,1.79494433706162762639e+09,NULL,'{"why":"fast is worth most so far: 10.6, by 142 outcomes"}');
INSERT INTO "decisions" VALUES(1,106,'fast',NULL,NULL,1.7949443370637006759e+09,NULL,'told',17.5625,1.79494433706577157967e+09,NULL,'{"why":"fast is worth most so far: -14.65, by 143 outcomes"}');
INSERT INTO "decisions" VALUES(1,107,'slow','joe',NULL,1.79494433706779265408e+09,NULL,'told',47.625,1.7949443370700047016e+09,NULL,'{"why":"slow is worth most so far: 44.74, by 111 outcomes"}');
INSERT INTO "decisions" VALUES(1,108,'fast','ann',NULL,1.79494433707259202007e+09,NULL,'told',17.6875,1.7949443370748956203e+09,NULL,'{"why":"fast is worth most so far: 10.59, by 144 outcomes"}');
INSERT INTO "decisions" VALUES(1,109,'fast',NULL,NULL,1.79494433707690906527e+09,NULL,'told',17.75,1.79494433707886981961e+09,NULL,'{"why":"fast is worth most so far: -14.69, by 145 outcomes"}');
INSERT INTO "decisions" VALUES(1,110,'slow','joe',NULL,1794944337.0811,NULL,'told',47.8125,1.79494433708338642125e+09,NULL,'{"why":"slow is worth most so far: 44.76, by 112 outcomes"}');
INSERT INTO "decisions" VALUES(1,111,'fast','ann',NULL,1.79494433708531141279e+09,NULL,'open',NULL,NULL,NULL,'{"why":"fast is worth most so far: 10.57, by 146 outcomes"}');
INSERT INTO "decisions" VALUES(1,112,'fast',NULL,NULL,1.79494433708779883383e+09,NULL,'told',17.9375,1.79494433708977699278e+09,NULL,'{"why":"fast is worth most so far: -14.71, by 146 outcomes"}');
INSERT INTO "decisions" VALUES(1,113,'slow','joe',NULL,1.79494433709655618666e+09,NULL,'told',48.0,1.79494433710102725028e+09,NULL,'{"why":"slow is worth most so far: 44.79, by 113 outcomes"}');
INSERT INTO "decisions" VALUES(1,114,'fast','ann',NULL,1.79494433710498762137e+09,NULL,'told',18.0625,1.79494433710756301882e+09,NULL,'{"why":"fast is worth most so far: 10.56, by 147 outcomes"}');
INSERT INTO "decisions" VALUES(1,115,'fast',NULL,NULL,1.79494433710960721965e+09,NULL,'told',18.125,1.79494433711163067822e+09,NULL,'{"why":"fast is worth most so far: -14.76, by 148 outcomes"}');
INSERT INTO "decisions" VALUES(1,116,'slow','joe',NULL,1.79494433711364078523e+09,NULL,'told',48.1875,1.79494433711623120305e+09,NULL,'{"why":"slow is worth most so far: 44.82, by 114 outcomes"}');
INSERT INTO "decisions" VALUES(1,117,'fast','ann',NULL,1.7949443371314697266e+09,NULL,'told',18.25,1.79494433713434481617e+09,NULL,'{"why":"fast is worth most so far: 10.54, by 149 outcomes"}');
INSERT INTO "decisions" VALUES(1,118,'fast',NULL,NULL,1.79494433713645386695e+09,NULL,'told',18.3125,1.79494433713839340212e+09,NULL,'{"why":"fast is worth most so far: -14.8, by 150 outcomes"}');
INSERT INTO "decisions" VALUES(1,119,'slow','joe',NULL,1.79494433714082145692e+09,NULL,'told',48.375,1.79494433714512419703e+09,NULL,'{"why":"slow is worth most so far: 44.85, by 115 outcomes"}');
INSERT INTO "decisions" VALUES(1,120,'fast','ann',NULL,1.79494433714898300171e+09,NULL,'told',18.4375,1.79494433715449690823e+09,NULL,'{"why":"fast is worth most so far: 10.52, by 151 outcomes"}');
CREATE TABLE events (
	experiment INTEGER NOT NULL, 
	seq BIGINT NOT NULL, 
	at DOUBLE NOT NULL, 
	body TEXT NOT NULL, 
	PRIMARY KEY (experiment, seq), 
	FOREIGN KEY(experiment) REFERENCES experiments (id)
)
 WITHOUT ROWID

;
INSERT INTO "events" VALUES(1,1,1.79494433494556546214e+09,'{"observe":"slow","rewards":[40.0],"imported":null}');
INSERT INTO "events" VALUES(1,2,1.79494433494556546214e+09,'{"observe":"fast","rewards":[10.0],"imported":null}');
INSERT INTO "events" VALUES(1,3,1.79494433494556546214e+09,'{"observe":"slow","rewards":[40.125],"imported":null}');
INSERT INTO "events" VALUES(1,4,1.79494433494556546214e+09,'{"observe":"fast","rewards":[10.125],"imported":null}');
INSERT INTO "events" VALUES(1,5,1.79494433494556546214e+09,'{"observe":"slow","rewards":[40.25],"imported":null}');
INSERT INTO "events" VALUES(1,6,1.79494433494556546214e+09,'{"observe":"fast","rewards":[10.25],"imported":null}');
INSERT INTO "events" VALUES(1,7,1.79494433494556546214e+09,'{"observe":"slow","rewards":[40.375],"imported":null}');
INSERT INTO "events" VALUES(1,8,1.79494433494556546214e+09,'{"observe":"fast","rewards":[10.375],"imported":null}');
INSERT INTO "events" VALUES(1,9,1.79494433494556546214e+09,'{"observe":"slow","rewards":[40.5],"imported":null}');
INSERT INTO "events" VALUES(1,10,1.79494433494556546214e+09,'{"observe":"fast","rewards":[10.5],"imported":null}');
INSERT INTO "events" VALUES(1,11,1.79494433494556546214e+09,'{"observe":"slow","rewards":[40.625],"imported":null}');
INSERT INTO "events" VALUES(1,12,1.79494433494556546214e+09,'{"observe":"fast","rewards":[10.625],"imported":null}');
INSERT INTO "events" VALUES(1,13,1.79494433494556546214e+09,'{"observe":"slow","rewards":[40.75],"imported":null}');
INSERT INTO "events" VALUES(1,14,1.79494433494556546214e+09,'{"observe":"fast","rewards":[10.75],"imported":null}');
INSERT INTO "events" VALUES(1,15,1.79494433494556546214e+09,'{"observe":"slow","rewards":[40.875],"imported":null}');
INSERT INTO "events" VALUES(1,16,1.79494433494556546214e+09,'{"observe":"fast","rewards":[10.875],"imported":null}');
INSERT INTO "events" VALUES(1,17,1.79494433494556546214e+09,'{"observe":"slow","rewards":[41.0],"imported":null}');
INSERT INTO "events" VALUES(1,18,1.79494433494556546214e+09,'{"observe":"fast","rewards":[11.0],"imported":null}');
INSERT INTO "events" VALUES(1,19,1.79494433494556546214e+09,'{"observe":"slow","rewards":[41.125],"imported":null}');
INSERT INTO "events" VALUES(1,20,1.79494433494556546214e+09,'{"observe":"fast","rewards":[11.125],"imported":null}');
INSERT INTO "events" VALUES(1,21,1.79494433494556546214e+09,'{"observe":"slow","rewards":[41.25],"imported":null}');
INSERT INTO "events" VALUES(1,22,1.79494433494556546214e+09,'{"observe":"fast","rewards":[11.25],"imported":null}');
INSERT INTO "events" VALUES(1,23,1.79494433494556546214e+09,'{"observe":"slow","rewards":[41.375],"imported":null}');
INSERT INTO "events" VALUES(1,24,1.79494433494556546214e+09,'{"observe":"fast","rewards":[11.375],"imported":null}');
INSERT INTO "events" VALUES(1,25,1.79494433494556546214e+09,'{"observe":"slow","rewards":[41.5],"imported":null}');
INSERT INTO "events" VALUES(1,26,1.79494433494556546214e+09,'{"observe":"fast","rewards":[11.5],"imported":null}');
INSERT INTO "events" VALUES(1,27,1.79494433494556546214e+09,'{"observe":"slow","rewards":[41.625],"imported":null}');
INSERT INTO "events" VALUES(1,28,1.79494433494556546214e+09,'{"observe":"fast","rewards":[11.625],"imported":null}');
INSERT INTO "events" VALUES(1,29,1.79494433494556546214e+09,'{"observe":"slow","rewards":[41.75],"imported":null}');
INSERT INTO "events" VALUES(1,30,1.79494433494556546214e+09,'{"observe":"fast","rewards":[11.75],"imported":null}');
INSERT INTO "events" VALUES(1,31,1.79494433494556546214e+09,'{"observe":"slow","rewards":[41.875],"imported":null}');
INSERT INTO "events" VALUES(1,32,1.79494433494556546214e+09,'{"observe":"fast","rewards":[11.875],"imported":null}');
INSERT INTO "events" VALUES(1,33,1.79494433494556546214e+09,'{"observe":"slow","rewards":[42.0],"imported":null}');
INSERT INTO "events" VALUES(1,34,1.79494433494556546214e+09,'{"observe":"fast","rewards":[12.0],"imported":null}');
INSERT INTO "events" VALUES(1,35,1.79494433494556546214e+09,'{"observe":"slow","rewards":[42.125],"imported":null}');
INSERT INTO "events" VALUES(1,36,1.79494433494556546214e+09,'{"observe":"fast","rewards":[12.125],"imported":null}');
INSERT INTO "events" VALUES(1,37,1.79494433494556546214e+09,'{"observe":"slow","rewards":[42.25],"imported":null}');
INSERT INTO "events" VALUES(1,38,1.79494433494556546214e+09,'{"observe":"fast","rewards":[12.25],"imported":null}');
INSERT INTO "events" VALUES(1,39,1.79494433494556546214e+09,'{"observe":"slow","rewards":[42.375],"imported":null}');
INSERT INTO "events" VALUES(1,40,1.79494433494556546214e+09,'{"observe":"fast","rewards":[12.375],"imported":null}');
INSERT INTO "events" VALUES(1,41,1.79494433494556546214e+09,'{"observe":"slow","rewards":[42.5],"imported":null}');
INSERT INTO "events" VALUES(1,42,1.79494433494556546214e+09,'{"observe":"fast","rewards":[12.5],"imported":null}');
INSERT INTO "events" VALUES(1,43,1.79494433494556546214e+09,'{"observe":"slow","rewards":[42.625],"imported":null}');
INSERT INTO "events" VALUES(1,44,1.79494433494556546214e+09,'{"observe":"fast","rewards":[12.625],"imported":null}');
INSERT INTO "events" VALUES(1,45,1.79494433494556546214e+09,'{"observe":"slow","rewards":[42.75],"imported":null}');
INSERT INTO "events" VALUES(1,46,1.79494433494556546214e+09,'{"observe":"fast","rewards":[12.75],"imported":null}');
INSERT INTO "events" VALUES(1,47,1.79494433494556546214e+09,'{"observe":"slow","rewards":[42.875],"imported":null}');
INSERT INTO "events" VALUES(1,48,1.79494433494556546214e+09,'{"observe":"fast","rewards":[12.875],"imported":null}');
INSERT INTO "events" VALUES(1,49,1.79494433494556546214e+09,'{"observe":"slow","rewards":[43.0],"imported":null}');
INSERT INTO "events" VALUES(1,50,1.79494433494556546214e+09,'{"observe":"fast","rewards":[13.0],"imported":null}');
INSERT INTO "events" VALUES(1,51,1.79494433494556546214e+09,'{"observe":"slow","rewards":[43.125],"imported":null}');
INSERT INTO "events" VALUES(1,52,1.79494433494556546214e+09,'{"observe":"fast","rewards":[13.125],"imported":null}');
INSERT INTO "events" VALUES(1,53,1.79494433494556546214e+09,'{"observe":"slow","rewards":[43.25],"imported":null}');
INSERT INTO "events" VALUES(1,54,1.79494433494556546214e+09,'{"observe":"fast","rewards":[13.25],"imported":null}');
INSERT INTO "events" VALUES(1,55,1.79494433494556546214e+09,'{"observe":"slow","rewards":[43.375],"imported":null}');
INSERT INTO "events" VALUES(1,56,1.79494433494556546214e+09,'{"observe":"fast","rewards":[13.375],"imported":null}');
INSERT INTO "events" VALUES(1,57,1.79494433494556546214e+09,'{"observe":"slow","rewards":[43.5],"imported":null}');
INSERT INTO "events" VALUES(1,58,1.79494433494556546214e+09,'{"observe":"fast","rewards":[13.5],"imported":null}');
INSERT INTO "events" VALUES(1,59,1.79494433494556546214e+09,'{"observe":"slow","rewards":[43.625],"imported":null}');
INSERT INTO "events" VALUES(1,60,1.79494433494556546214e+09,'{"observe":"fast","rewards":[13.625],"imported":null}');
INSERT INTO "events" VALUES(1,61,1.79494433494556546214e+09,'{"observe":"slow","rewards":[43.75],"imported":null}');
INSERT INTO "events" VALUES(1,62,1.79494433494556546214e+09,'{"observe":"fast","rewards":[13.75],"imported":null}');
INSERT INTO "events" VALUES(1,63,1.79494433494556546214e+09,'{"observe":"slow","rewards":[43.875],"imported":null}');
INSERT INTO "events" VALUES(1,64,1.79494433494556546214e+09,'{"observe":"fast","rewards":[13.875],"imported":null}');
INSERT INTO "events" VALUES(1,65,1.79494433494556546214e+09,'{"observe":"slow","rewards":[44.0],"imported":null}');
INSERT INTO "events" VALUES(1,66,1.79494433494556546214e+09,'{"observe":"fast","rewards":[14.0],"imported":null}');
INSERT INTO "events" VALUES(1,67,1.79494433494556546214e+09,'{"observe":"slow","rewards":[44.125],"imported":null}');
INSERT INTO "events" VALUES(1,68,1.79494433494556546214e+09,'{"observe":"fast","rewards":[14.125],"imported":null}');
INSERT INTO "events" VALUES(1,69,1.79494433494556546214e+09,'{"observe":"slow","rewards":[44.25],"imported":null}');
INSERT INTO "events" VALUES(1,70,1.79494433494556546214e+09,'{"observe":"fast","rewards":[14.25],"imported":null}');
INSERT INTO "events" VALUES(1,71,1.79494433494556546214e+09,'{"observe":"slow","rewards":[44.375],"imported":null}');
INSERT INTO "events" VALUES(1,72,1.79494433494556546214e+09,'{"observe":"fast","rewards":[14.375],"imported":null}');
INSERT INTO "events" VALUES(1,73,1.79494433494556546214e+09,'{"observe":"slow","rewards":[44.5],"imported":null}');
INSERT INTO "events" VALUES(1,74,1.79494433494556546214e+09,'{"observe":"fast","rewards":[14.5],"imported":null}');
INSERT INTO "events" VALUES(1,75,1.79494433494556546214e+09,'{"observe":"slow","rewards":[44.625],"imported":null}');
INSERT INTO "events" VALUES(1,76,1.79494433494556546214e+09,'{"observe":"fast","rewards":[14.625],"imported":null}');
INSERT INTO "events" VALUES(1,77,1.79494433494556546214e+09,'{"observe":"slow","rewards":[44.75],"imported":null}');
INSERT INTO "events" VALUES(1,78,1.79494433494556546214e+09,'{"observe":"fast","rewards":[14.75],"imported":null}');
INSERT INTO "events" VALUES(1,79,1.79494433494556546214e+09,'{"observe":"slow","rewards":[44.875],"imported":null}');
INSERT INTO "events" VALUES(1,80,1.79494433494556546214e+09,'{"observe":"fast","rewards":[14.875],"imported":null}');
INSERT INTO "events" VALUES(1,81,1.79494433494556546214e+09,'{"observe":"slow","rewards":[45.0],"imported":null}');
INSERT INTO "events" VALUES(1,82,1.79494433494556546214e+09,'{"observe":"fast","rewards":[15.0],"imported":null}');
INSERT INTO "events" VALUES(1,83,1.79494433494556546214e+09,'{"observe":"slow","rewards":[45.125],"imported":null}');
INSERT INTO "events" VALUES(1,84,1.79494433494556546214e+09,'{"observe":"fast","rewards":[15.125],"imported":null}');
INSERT INTO "events" VALUES(1,85,1.79494433494556546214e+09,'{"observe":"slow","rewards":[45.25],"imported":null}');
INSERT INTO "events" VALUES(1,86,1.79494433494556546214e+09,'{"observe":"fast","rewards":[15.25],"imported":null}');
INSERT INTO "events" VALUES(1,87,1.79494433494556546214e+09,'{"observe":"slow","rewards":[45.375],"imported":null}');
INSERT INTO "events" VALUES(1,88,1.79494433494556546214e+09,'{"observe":"fast","rewards":[15.375],"imported":null}');
INSERT INTO "events" VALUES(1,89,1.79494433494556546214e+09,'{"observe":"slow","rewards":[45.5],"imported":null}');
INSERT INTO "events" VALUES(1,90,1.79494433494556546214e+09,'{"observe":"fast","rewards":[15.5],"imported":null}');
INSERT INTO "events" VALUES(1,91,1.79494433494556546214e+09,'{"observe":"slow","rewards":[45.625],"imported":null}');
INSERT INTO "events" VALUES(1,92,1.79494433494556546214e+09,'{"observe":"fast","rewards":[15.625],"imported":null}');
INSERT INTO "events" VALUES(1,93,1.79494433494556546214e+09,'{"observe":"slow","rewards":[45.75],"imported":null}');
INSERT INTO "events" VALUES(1,94,1.79494433494556546214e+09,'{"observe":"fast","rewards":[15.75],"imported":null}');
INSERT INTO "events" VALUES(1,95,1.79494433494556546214e+09,'{"observe":"slow","rewards":[45.875],"imported":null}');
INSERT INTO "events" VALUES(1,96,1.79494433494556546214e+09,'{"observe":"fast","rewards":[15.875],"imported":null}');
INSERT INTO "events" VALUES(1,97,1.79494433494556546214e+09,'{"observe":"slow","rewards":[46.0],"imported":null}');
INSERT INTO "events" VALUES(1,98,1.79494433494556546214e+09,'{"observe":"fast","rewards":[16.0],"imported":null}');
INSERT INTO "events" VALUES(1,99,1.79494433494556546214e+09,'{"observe":"slow","rewards":[46.125],"imported":null}');
INSERT INTO "events" VALUES(1,100,1.79494433494556546214e+09,'{"observe":"fast","rewards":[16.125],"imported":null}');
INSERT INTO "events" VALUES(1,101,1.79494433494556546214e+09,'{"observe":"slow","rewards":[46.25],"imported":null}');
INSERT INTO "events" VALUES(1,102,1.79494433494556546214e+09,'{"observe":"fast","rewards":[16.25],"imported":null}');
INSERT INTO "events" VALUES(1,103,1.79494433494556546214e+09,'{"observe":"slow","rewards":[46.375],"imported":null}');
INSERT INTO "events" VALUES(1,104,1.79494433494556546214e+09,'{"observe":"fast","rewards":[16.375],"imported":null}');
INSERT INTO "events" VALUES(1,105,1.79494433494556546214e+09,'{"observe":"slow","rewards":[46.5],"imported":null}');
INSERT INTO "events" VALUES(1,106,1.79494433494556546214e+09,'{"observe":"fast","rewards":[16.5],"imported":null}');
INSERT INTO "events" VALUES(1,107,1.79494433494556546214e+09,'{"observe":"slow","rewards":[46.625],"imported":null}');
INSERT INTO "events" VALUES(1,108,1.79494433494556546214e+09,'{"observe":"fast","rewards":[16.625],"imported":null}');
INSERT INTO "events" VALUES(1,109,1.79494433494556546214e+09,'{"observe":"slow","rewards":[46.75],"imported":null}');
INSERT INTO "events" VALUES(1,110,1.79494433494556546214e+09,'{"observe":"fast","rewards":[16.75],"imported":null}');
INSERT INTO "events" VALUES(1,111,1.79494433494556546214e+09,'{"observe":"slow","rewards":[46.875],"imported":null}');
INSERT INTO "events" VALUES(1,112,1.79494433494556546214e+09,'{"observe":"fast","rewards":[16.875],"imported":null}');
INSERT INTO "events" VALUES(1,113,1.79494433494556546214e+09,'{"observe":"slow","rewards":[47.0],"imported":null}');
INSERT INTO "events" VALUES(1,114,1.79494433494556546214e+09,'{"observe":"fast","rewards":[17.0],"imported":null}');
INSERT INTO "events" VALUES(1,115,1.79494433494556546214e+09,'{"observe":"slow","rewards":[47.125],"imported":null}');
INSERT INTO "events" VALUES(1,116,1.79494433494556546214e+09,'{"observe":"fast","rewards":[17.125],"imported":null}');
INSERT INTO "events" VALUES(1,117,1.79494433494556546214e+09,'{"observe":"slow","rewards":[47.25],"imported":null}');
INSERT INTO "events" VALUES(1,118,1.79494433494556546214e+09,'{"observe":"fast","rewards":[17.25],"imported":null}');
INSERT INTO "events" VALUES(1,119,1.79494433494556546214e+09,'{"observe":"slow","rewards":[47.375],"imported":null}');
INSERT INTO "events" VALUES(1,120,1.79494433494556546214e+09,'{"observe":"fast","rewards":[17.375],"imported":null}');
INSERT INTO "events" VALUES(1,121,1.79494433494556546214e+09,'{"observe":"slow","rewards":[47.5],"imported":null}');
INSERT INTO "events" VALUES(1,122,1.79494433494556546214e+09,'{"observe":"fast","rewards":[17.5],"imported":null}');
INSERT INTO "events" VALUES(1,123,1.79494433494556546214e+09,'{"observe":"slow","rewards":[47.625],"imported":null}');
INSERT INTO "events" VALUES(1,124,1.79494433494556546214e+09,'{"observe":"fast","rewards":[17.625],"imported":null}');
INSERT INTO "events" VALUES(1,125,1.79494433494556546214e+09,'{"observe":"slow","rewards":[47.75],"imported":null}');
INSERT INTO "events" VALUES(1,126,1.79494433494556546214e+09,'{"observe":"fast","rewards":[17.75],"imported":null}');
INSERT INTO "events" VALUES(1,127,1.79494433494556546214e+09,'{"observe":"slow","rewards":[47.875],"imported":null}');
INSERT INTO "events" VALUES(1,128,1.79494433494556546214e+09,'{"observe":"fast","rewards":[17.875],"imported":null}');
INSERT INTO "events" VALUES(1,129,1.79494433494556546214e+09,'{"observe":"slow","rewards":[48.0],"imported":null}');
INSERT INTO "events" VALUES(1,130,1.79494433494556546214e+09,'{"observe":"fast","rewards":[18.0],"imported":null}');
INSERT INTO "events" VALUES(1,131,1.79494433494556546214e+09,'{"observe":"slow","rewards":[48.125],"imported":null}');
INSERT INTO "events" VALUES(1,132,1.79494433494556546214e+09,'{"observe":"fast","rewards":[18.125],"imported":null}');
INSERT INTO "events" VALUES(1,133,1.79494433494556546214e+09,'{"observe":"slow","rewards":[48.25],"imported":null}');
INSERT INTO "events" VALUES(1,134,1.79494433494556546214e+09,'{"observe":"fast","rewards":[18.25],"imported":null}');
INSERT INTO "events" VALUES(1,135,1.79494433494556546214e+09,'{"observe":"slow","rewards":[48.375],"imported":null}');
INSERT INTO "events" VALUES(1,136,1.79494433494556546214e+09,'{"observe":"fast","rewards":[18.375],"imported":null}');
INSERT INTO "events" VALUES(1,137,1.79494433494556546214e+09,'{"observe":"slow","rewards":[48.5],"imported":null}');
INSERT INTO "events" VALUES(1,138,1.79494433494556546214e+09,'{"observe":"fast","rewards":[18.5],"imported":null}');
INSERT INTO "events" VALUES(1,139,1.79494433494556546214e+09,'{"observe":"slow","rewards":[48.625],"imported":null}');
INSERT INTO "events" VALUES(1,140,1.79494433494556546214e+09,'{"observe":"fast","rewards":[18.625],"imported":null}');
INSERT INTO "events" VALUES(1,141,1.79494433494556546214e+09,'{"observe":"slow","rewards":[48.75],"imported":null}');
INSERT INTO "events" VALUES(1,142,1.79494433494556546214e+09,'{"observe":"fast","rewards":[18.75],"imported":null}');
INSERT INTO "events" VALUES(1,143,1.79494433494556546214e+09,'{"observe":"slow","rewards":[48.875],"imported":null}');
INSERT INTO "events" VALUES(1,144,1.79494433494556546214e+09,'{"observe":"fast","rewards":[18.875],"imported":null}');
INSERT INTO "events" VALUES(1,145,1.79494433494556546214e+09,'{"observe":"slow","rewards":[49.0],"imported":null}');
INSERT INTO "events" VALUES(1,146,1.79494433494556546214e+09,'{"observe":"fast","rewards":[19.0],"imported":null}');
INSERT INTO "events" VALUES(1,147,1.79494433494556546214e+09,'{"observe":"slow","rewards":[49.125],"imported":null}');
INSERT INTO "events" VALUES(1,148,1.79494433494556546214e+09,'{"observe":"fast","rewards":[19.125],"imported":null}');
INSERT INTO "events" VALUES(1,149,1.79494433494556546214e+09,'{"observe":"slow","rewards":[49.25],"imported":null}');
INSERT INTO "events" VALUES(1,150,1.79494433494556546214e+09,'{"observe":"fast","rewards":[19.25],"imported":null}');
INSERT INTO "events" VALUES(1,151,1.79494433494556546214e+09,'{"observe":"slow","rewards":[49.375],"imported":null}');
INSERT INTO "events" VALUES(1,152,1.79494433494556546214e+09,'{"observe":"fast","rewards":[19.375],"imported":null}');
INSERT INTO "events" VALUES(1,153,1.79494433494556546214e+09,'{"observe":"slow","rewards":[49.5],"imported":null}');
INSERT INTO "events" VALUES(1,154,1.79494433494556546214e+09,'{"observe":"fast","rewards":[19.5],"imported":null}');
INSERT INTO "events" VALUES(1,155,1.79494433494556546214e+09,'{"observe":"slow","rewards":[49.625],"imported":null}');
INSERT INTO "events" VALUES(1,156,1.79494433494556546214e+09,'{"observe":"fast","rewards":[19.625],"imported":null}');
INSERT INTO "events" VALUES(1,157,1.79494433494556546214e+09,'{"observe":"slow","rewards":[49.75],"imported":null}');
INSERT INTO "events" VALUES(1,158,1.79494433494556546214e+09,'{"observe":"fast","rewards":[19.75],"imported":null}');
INSERT INTO "events" VALUES(1,159,1.79494433494556546214e+09,'{"observe":"slow","rewards":[49.875],"imported":null}');
INSERT INTO "events" VALUES(1,160,1.79494433494556546214e+09,'{"observe":"fast","rewards":[19.875],"imported":null}');
INSERT INTO "events" VALUES(1,161,1.79494433505959987643e+09,'{"ask":[[1,"fast"]]}');
INSERT INTO "events" VALUES(1,162,1.79494433508522272108e+09,'{"ask":[[2,"slow"]],"preference":1}');
INSERT INTO "events" VALUES(1,163,1.79494433510233783717e+09,'{"tell":2,"reward":41.0625}');
INSERT INTO "events" VALUES(1,164,1794944335.11035,'{"ask":[[3,"fast"]],"preference":2}');
INSERT INTO "events" VALUES(1,165,1.79494433514685463909e+09,'{"tell":3,"reward":11.125}');
INSERT INTO "events" VALUES(1,166,1.79494433514910292628e+09,'{"ask":[[4,"fast"]]}');
INSERT INTO "events" VALUES(1,167,1.79494433515256834031e+09,'{"tell":4,"reward":11.1875}');
INSERT INTO "events" VALUES(1,168,1.79494433516070604327e+09,'{"ask":[[5,"slow"]],"preference":1}');
INSERT INTO "events" VALUES(1,169,1.79494433517054247854e+09,'{"tell":5,"reward":41.25}');
INSERT INTO "events" VALUES(1,170,1.79494433517224168776e+09,'{"ask":[[6,"fast"]],"preference":2}');
INSERT INTO "events" VALUES(1,171,1.79494433517407464984e+09,'{"tell":6,"reward":11.3125}');
INSERT INTO "events" VALUES(1,172,1.79494433517555952066e+09,'{"ask":[[7,"fast"]]}');
INSERT INTO "events" VALUES(1,173,1.7949443351769549847e+09,'{"tell":7,"reward":11.375}');
INSERT INTO "events" VALUES(1,174,1.79494433517852091785e+09,'{"ask":[[8,"slow"]],"preference":1}');
INSERT INTO "events" VALUES(1,175,1.79494433518034172056e+09,'{"tell":8,"reward":41.4375}');
INSERT INTO "events" VALUES(1,176,1.79494433518172264102e+09,'{"ask":[[9,"fast"]],"preference":2}');
INSERT INTO "events" VALUES(1,177,1.7949443351834793091e+09,'{"tell":9,"reward":11.5}');
INSERT INTO "events" VALUES(1,178,1.79494433518482637401e+09,'{"ask":[[10,"fast"]]}');
INSERT INTO "events" VALUES(1,179,1.79494433518613219265e+09,'{"tell":10,"reward":11.5625}');
INSERT INTO "events" VALUES(1,180,1.794944335566286087e+09,'{"ask":[[11,"slow"]],"preference":1}');
INSERT INTO "events" VALUES(1,181,1.7949443355706617832e+09,'{"ask":[[12,"fast"]],"preference":2}');
INSERT INTO "events" VALUES(1,182,1.79494433558055233954e+09,'{"tell":12,"reward":11.6875}');
INSERT INTO "events" VALUES(1,183,1.79494433558467531204e+09,'{"ask":[[13,"fast"]]}');
INSERT INTO "events" VALUES(1,184,1.79494433558837437631e+09,'{"tell":13,"reward":11.75}');
INSERT INTO "events" VALUES(1,185,1.79494433559240651127e+09,'{"ask":[[14,"slow"]],"preference":1}');
INSERT INTO "events" VALUES(1,186,1.79494433559629869463e+09,'{"tell":14,"reward":41.8125}');
INSERT INTO "events" VALUES(1,187,1.79494433560044097902e+09,'{"ask":[[15,"fast"]],"preference":2}');
INSERT INTO "events" VALUES(1,188,1.79494433560448312758e+09,'{"tell":15,"reward":11.875}');
INSERT INTO "events" VALUES(1,189,1.79494433561443686485e+09,'{"ask":[[16,"fast"]]}');
INSERT INTO "events" VALUES(1,190,1.79494433562056827542e+09,'{"tell":16,"reward":11.9375}');
INSERT INTO "events" VALUES(1,191,1.79494433562457013126e+09,'{"ask":[[17,"slow"]],"preference":1}');
INSERT INTO "events" VALUES(1,192,1.7949443356348502636e+09,'{"tell":17,"reward":42.0}');
INSERT INTO "events" VALUES(1,193,1.79494433564122319226e+09,'{"ask":[[18,"fast"]],"preference":2}');
INSERT INTO "events" VALUES(1,194,1.79494433564484858509e+09,'{"tell":18,"reward":12.0625}');
INSERT INTO "events" VALUES(1,195,1.79494433565251040462e+09,'{"ask":[[19,"fast"]]}');
INSERT INTO "events" VALUES(1,196,1.79494433565645122525e+09,'{"tell":19,"reward":12.125}');
INSERT INTO "events" VALUES(1,197,1.7949443356604342461e+09,'{"ask":[[20,"slow"]],"preference":1}');
INSERT INTO "events" VALUES(1,198,1.794944335664447546e+09,'{"tell":20,"reward":42.1875}');
INSERT INTO "events" VALUES(1,199,1.79494433566840505597e+09,'{"ask":[[21,"fast"]],"preference":2}');
INSERT INTO "events" VALUES(1,200,1.79494433567235970499e+09,'{"ask":[[22,"fast"]]}');
INSERT INTO "events" VALUES(1,201,1.79494433567558884625e+09,'{"tell":22,"reward":12.3125}');
INSERT INTO "events" VALUES(1,202,1.79494433568041396138e+09,'{"ask":[[23,"slow"]],"preference":1}');
INSERT INTO "events" VALUES(1,203,1.79494433568454670908e+09,'{"tell":23,"reward":42.375}');
INSERT INTO "events" VALUES(1,204,1.79494433568842434887e+09,'{"ask":[[24,"fast"]],"preference":2}');
INSERT INTO "events" VALUES(1,205,1.79494433569219231602e+09,'{"tell":24,"reward":12.4375}');
INSERT INTO "events" VALUES(1,206,1.79494433569663953782e+09,'{"ask":[[25,"fast"]]}');
INSERT INTO "events" VALUES(1,207,1.7949443357004446983e+09,'{"tell":25,"reward":12.5}');
INSERT INTO "events" VALUES(1,208,1.79494433570449447631e+09,'{"ask":[[26,"slow"]],"preference":1}');
INSERT INTO "events" VALUES(1,209,1.79494433570650172233e+09,'{"tell":26,"reward":42.5625}');
INSERT INTO "events" VALUES(1,210,1.79494433571245622636e+09,'{"ask":[[27,"fast"]],"preference":2}');
INSERT INTO "events" VALUES(1,211,1.79494433571695685388e+09,'{"tell":27,"reward":12.625}');
INSERT INTO "events" VALUES(1,212,1.79494433572050690649e+09,'{"ask":[[28,"fast"]]}');
INSERT INTO "events" VALUES(1,213,1.79494433572232580187e+09,'{"tell":28,"reward":12.6875}');
INSERT INTO "events" VALUES(1,214,1.79494433572407507894e+09,'{"ask":[[29,"slow"]],"preference":1}');
INSERT INTO "events" VALUES(1,215,1.79494433572587704659e+09,'{"tell":29,"reward":42.75}');
INSERT INTO "events" VALUES(1,216,1.79494433572742605209e+09,'{"ask":[[30,"fast"]],"preference":2}');
INSERT INTO "events" VALUES(1,217,1.79494433572924518578e+09,'{"tell":30,"reward":12.8125}');
INSERT INTO "events" VALUES(1,218,1.79494433573089385031e+09,'{"ask":[[31,"fast"]]}');
INSERT INTO "events" VALUES(1,219,1.79494433573246455187e+09,'{"ask":[[32,"slow"]],"preference":1}');
INSERT INTO "events" VALUES(1,220,1.79494433573437380795e+09,'{"tell":32,"reward":42.9375}');
INSERT INTO "events" VALUES(1,221,1.7949443357363841534e+09,'{"ask":[[33,"fast"]],"preference":2}');
INSERT INTO "events" VALUES(1,222,1.79494433573812866211e+09,'{"tell":33,"reward":13.0}');
INSERT INTO "events" VALUES(1,223,1.79494433573964381218e+09,'{"ask":[[34,"fast"]]}');
INSERT INTO "events" VALUES(1,224,1.79494433574111223218e+09,'{"tell":34,"reward":13.0625}');
INSERT INTO "events" VALUES(1,225,1.79494433574253511431e+09,'{"ask":[[35,"slow"]],"preference":1}');
INSERT INTO "events" VALUES(1,226,1.7949443357445428372e+09,'{"tell":35,"reward":43.125}');
INSERT INTO "events" VALUES(1,227,1.79494433574614238743e+09,'{"ask":[[36,"fast"]],"preference":2}');
INSERT INTO "events" VALUES(1,228,1.7949443357479462624e+09,'{"tell":36,"reward":13.1875}');
INSERT INTO "events" VALUES(1,229,1.79494433574938750267e+09,'{"ask":[[37,"fast"]]}');
INSERT INTO "events" VALUES(1,230,1.79494433575097179413e+09,'{"tell":37,"reward":13.25}');
INSERT INTO "events" VALUES(1,231,1.79494433575254035001e+09,'{"ask":[[38,"slow"]],"preference":1}');
INSERT INTO "events" VALUES(1,232,1.79494433575426101689e+09,'{"tell":38,"reward":43.3125}');
INSERT INTO "events" VALUES(1,233,1.79494433575584220888e+09,'{"ask":[[39,"fast"]],"preference":2}');
INSERT INTO "events" VALUES(1,234,1.7949443357577040195e+09,'{"tell":39,"reward":13.375}');
INSERT INTO "events" VALUES(1,235,1.79494433575929188727e+09,'{"ask":[[40,"fast"]]}');
INSERT INTO "events" VALUES(1,236,1.79494433576072430613e+09,'{"tell":40,"reward":13.4375}');
INSERT INTO "events" VALUES(1,237,1.79494433576222181319e+09,'{"ask":[[41,"slow"]],"preference":1}');
INSERT INTO "events" VALUES(1,238,1.794944335764064312e+09,'{"ask":[[42,"fast"]],"preference":2}');
INSERT INTO "events" VALUES(1,239,1.79494433576589703565e+09,'{"tell":42,"reward":13.5625}');
INSERT INTO "events" VALUES(1,240,1.79494433576748371123e+09,'{"ask":[[43,"fast"]]}');
INSERT INTO "events" VALUES(1,241,1.79494433576892280582e+09,'{"tell":43,"reward":13.625}');
INSERT INTO "events" VALUES(1,242,1.79494433577045249938e+09,'{"ask":[[44,"slow"]],"preference":1}');
INSERT INTO "events" VALUES(1,243,1.79494433577221393586e+09,'{"tell":44,"reward":43.6875}');
INSERT INTO "events" VALUES(1,244,1.79494433577371692656e+09,'{"ask":[[45,"fast"]],"preference":2}');
INSERT INTO "events" VALUES(1,245,1.79494433577578186992e+09,'{"tell":45,"reward":13.75}');
INSERT INTO "events" VALUES(1,246,1.79494433577762126921e+09,'{"ask":[[46,"fast"]]}');
INSERT INTO "events" VALUES(1,247,1.79494433577925252909e+09,'{"tell":46,"reward":13.8125}');
INSERT INTO "events" VALUES(1,248,1.79494433578080368049e+09,'{"ask":[[47,"slow"]],"preference":1}');
INSERT INTO "events" VALUES(1,249,1.79494433578264355657e+09,'{"tell":47,"reward":43.875}');
INSERT INTO "events" VALUES(1,250,1.79494433578457093236e+09,'{"ask":[[48,"fast"]],"preference":2}');
INSERT INTO "events" VALUES(1,251,1.79494433578692841532e+09,'{"tell":48,"reward":13.9375}');
INSERT INTO "events" VALUES(1,252,1.79494433578869366646e+09,'{"ask":[[49,"fast"]]}');
INSERT INTO "events" VALUES(1,253,1.79494433579066586491e+09,'{"tell":49,"reward":14.0}');
INSERT INTO "events" VALUES(1,254,1.79494433579253983494e+09,'{"ask":[[50,"slow"]],"preference":1}');
INSERT INTO "events" VALUES(1,255,1.79494433579455184941e+09,'{"tell":50,"reward":44.0625}');
INSERT INTO "events" VALUES(1,256,1.79494433579632329937e+09,'{"ask":[[51,"fast"]],"preference":2}');
INSERT INTO "events" VALUES(1,257,1.79494433579830670356e+09,'{"ask":[[52,"fast"]]}');
INSERT INTO "events" VALUES(1,258,1.79494433580007934575e+09,'{"tell":52,"reward":14.1875}');
INSERT INTO "events" VALUES(1,259,1.79494433580432891841e+09,'{"ask":[[53,"slow"]],"preference":1}');
INSERT INTO "events" VALUES(1,260,1.79494433580863165856e+09,'{"tell":53,"reward":44.25}');
INSERT INTO "events" VALUES(1,261,1.79494433581670546525e+09,'{"ask":[[54,"fast"]],"preference":2}');
INSERT INTO "events" VALUES(1,262,1.79494433582477354999e+09,'{"tell":54,"reward":14.3125}');
INSERT INTO "events" VALUES(1,263,1.79494433583160042759e+09,'{"ask":[[55,"fast"]]}');
INSERT INTO "events" VALUES(1,264,1.79494433583970403674e+09,'{"tell":55,"reward":14.375}');
INSERT INTO "events" VALUES(1,265,1794944335.85168,'{"ask":[[56,"slow"]],"preference":1}');
INSERT INTO "events" VALUES(1,266,1.79494433586767649646e+09,'{"tell":56,"reward":44.4375}');
INSERT INTO "events" VALUES(1,267,1.79494433587268209452e+09,'{"ask":[[57,"fast"]],"preference":2}');
INSERT INTO "events" VALUES(1,268,1.79494433587965178484e+09,'{"tell":57,"reward":14.5}');
INSERT INTO "events" VALUES(1,269,1.79494433588939809797e+09,'{"ask":[[58,"fast"]]}');
INSERT INTO "events" VALUES(1,270,1.79494433589958143232e+09,'{"tell":58,"reward":14.5625}');
INSERT INTO "events" VALUES(1,271,1.79494433591273427008e+09,'{"ask":[[59,"slow"]],"preference":1}');
INSERT INTO "events" VALUES(1,272,1.79494433592754721639e+09,'{"tell":59,"reward":44.625}');
INSERT INTO "events" VALUES(1,273,1.7949443359407753944e+09,'{"ask":[[60,"fast"]],"preference":2}');
INSERT INTO "events" VALUES(1,274,1.79494433594520902634e+09,'{"tell":60,"reward":14.6875}');
INSERT INTO "events" VALUES(1,275,1.79494433594949340821e+09,'{"ask":[[61,"fast"]]}');
INSERT INTO "events" VALUES(1,276,1.79494433595352101329e+09,'{"ask":[[62,"slow"]],"preference":1}');
INSERT INTO "events" VALUES(1,277,1.79494433596206521986e+09,'{"tell":62,"reward":44.8125}');
INSERT INTO "events" VALUES(1,278,1.79494433596389651305e+09,'{"ask":[[63,"fast"]],"preference":2}');
INSERT INTO "events" VALUES(1,279,1.79494433596582674984e+09,'{"tell":63,"reward":14.875}');
INSERT INTO "events" VALUES(1,280,1.79494433596758985521e+09,'{"ask":[[64,"fast"]]}');
INSERT INTO "events" VALUES(1,281,1.79494433596898722649e+09,'{"tell":64,"reward":14.9375}');
INSERT INTO "events" VALUES(1,282,1.79494433597066259389e+09,'{"ask":[[65,"slow"]],"preference":1}');
INSERT INTO "events" VALUES(1,283,1.79494433597244143485e+09,'{"tell":65,"reward":45.0}');
INSERT INTO "events" VALUES(1,284,1.79494433597373533248e+09,'{"ask":[[66,"fast"]],"preference":2}');
INSERT INTO "events" VALUES(1,285,1.79494433597547459603e+09,'{"tell":66,"reward":15.0625}');
INSERT INTO "events" VALUES(1,286,1.79494433597675037382e+09,'{"ask":[[67,"fast"]]}');
INSERT INTO "events" VALUES(1,287,1.79494433597801733015e+09,'{"tell":67,"reward":15.125}');
INSERT INTO "events" VALUES(1,288,1.79494433598754715916e+09,'{"ask":[[68,"slow"]],"preference":1}');
INSERT INTO "events" VALUES(1,289,1.79494433599557590489e+09,'{"tell":68,"reward":45.1875}');
INSERT INTO "events" VALUES(1,290,1.7949443360049498081e+09,'{"ask":[[69,"fast"]],"preference":2}');
INSERT INTO "events" VALUES(1,291,1.79494433602060341837e+09,'{"tell":69,"reward":15.25}');
INSERT INTO "events" VALUES(1,292,1.79494433603280758855e+09,'{"ask":[[70,"fast"]]}');
INSERT INTO "events" VALUES(1,293,1.79494433604455327991e+09,'{"tell":70,"reward":15.3125}');
INSERT INTO "events" VALUES(1,294,1.79494433604853749278e+09,'{"ask":[[71,"slow"]],"preference":1}');
INSERT INTO "events" VALUES(1,295,1.79494433606061863902e+09,'{"ask":[[72,"fast"]],"preference":2}');
INSERT INTO "events" VALUES(1,296,1.79494433607274079317e+09,'{"tell":72,"reward":15.4375}');
INSERT INTO "events" VALUES(1,297,1.79494433608055758478e+09,'{"ask":[[73,"fast"]]}');
INSERT INTO "events" VALUES(1,298,1.7949443360925703049e+09,'{"tell":73,"reward":15.5}');
INSERT INTO "events" VALUES(1,299,1.79494433610862565045e+09,'{"ask":[[74,"slow"]],"preference":1}');
INSERT INTO "events" VALUES(1,300,1794944336.12059,'{"tell":74,"reward":45.5625}');
INSERT INTO "events" VALUES(1,301,1.79494433613682293892e+09,'{"ask":[[75,"fast"]],"preference":2}');
INSERT INTO "events" VALUES(1,302,1.79494433615562510491e+09,'{"tell":75,"reward":15.625}');
INSERT INTO "events" VALUES(1,303,1.79494433617690682413e+09,'{"ask":[[76,"fast"]]}');
INSERT INTO "events" VALUES(1,304,1.79494433619150519374e+09,'{"tell":76,"reward":15.6875}');
INSERT INTO "events" VALUES(1,305,1.79494433620481538774e+09,'{"ask":[[77,"slow"]],"preference":1}');
INSERT INTO "events" VALUES(1,306,1.79494433622083520893e+09,'{"tell":77,"reward":45.75}');
INSERT INTO "events" VALUES(1,307,1794944336.23283,'{"ask":[[78,"fast"]],"preference":2}');
INSERT INTO "events" VALUES(1,308,1.79494433625161576269e+09,'{"tell":78,"reward":15.8125}');
INSERT INTO "events" VALUES(1,309,1.79494433626910686492e+09,'{"ask":[[79,"fast"]]}');
INSERT INTO "events" VALUES(1,310,1.79494433628498053544e+09,'{"tell":79,"reward":15.875}');
INSERT INTO "events" VALUES(1,311,1.79494433634487891198e+09,'{"ask":[[80,"slow"]],"preference":1}');
INSERT INTO "events" VALUES(1,312,1.79494433635949921608e+09,'{"tell":80,"reward":45.9375}');
INSERT INTO "events" VALUES(1,313,1.79494433638090491295e+09,'{"ask":[[81,"fast"]],"preference":2}');
INSERT INTO "events" VALUES(1,314,1.79494433640910267826e+09,'{"ask":[[82,"fast"]]}');
INSERT INTO "events" VALUES(1,315,1.79494433641682386393e+09,'{"tell":82,"reward":16.0625}');
INSERT INTO "events" VALUES(1,316,1.7949443364368696213e+09,'{"ask":[[83,"slow"]],"preference":1}');
INSERT INTO "events" VALUES(1,317,1.79494433645284295082e+09,'{"tell":83,"reward":46.125}');
INSERT INTO "events" VALUES(1,318,1.79494433646881508832e+09,'{"ask":[[84,"fast"]],"preference":2}');
INSERT INTO "events" VALUES(1,319,1.79494433648879575735e+09,'{"tell":84,"reward":16.1875}');
INSERT INTO "events" VALUES(1,320,1.79494433650495052333e+09,'{"ask":[[85,"fast"]]}');
INSERT INTO "events" VALUES(1,321,1.79494433652076411248e+09,'{"tell":85,"reward":16.25}');
INSERT INTO "events" VALUES(1,322,1.79494433653275704387e+09,'{"ask":[[86,"slow"]],"preference":1}');
INSERT INTO "events" VALUES(1,323,1.79494433655965113637e+09,'{"tell":86,"reward":46.3125}');
INSERT INTO "events" VALUES(1,324,1.79494433657548832896e+09,'{"ask":[[87,"fast"]],"preference":2}');
INSERT INTO "events" VALUES(1,325,1.79494433659048652652e+09,'{"tell":87,"reward":16.375}');
INSERT INTO "events" VALUES(1,326,1.79494433660491371157e+09,'{"ask":[[88,"fast"]]}');
INSERT INTO "events" VALUES(1,327,1.79494433662344908715e+09,'{"tell":88,"reward":16.4375}');
INSERT INTO "events" VALUES(1,328,1.79494433664070820802e+09,'{"ask":[[89,"slow"]],"preference":1}');
INSERT INTO "events" VALUES(1,329,1.79494433666092729571e+09,'{"tell":89,"reward":46.5}');
INSERT INTO "events" VALUES(1,330,1.79494433667271089554e+09,'{"ask":[[90,"fast"]],"preference":2}');
INSERT INTO "events" VALUES(1,331,1.79494433668877863882e+09,'{"tell":90,"reward":16.5625}');
INSERT INTO "events" VALUES(1,332,1.79494433669676947597e+09,'{"ask":[[91,"fast"]]}');
INSERT INTO "events" VALUES(1,333,1.79494433671956682202e+09,'{"ask":[[92,"slow"]],"preference":1}');
INSERT INTO "events" VALUES(1,334,1.7949443367328112125e+09,'{"tell":92,"reward":46.6875}');
INSERT INTO "events" VALUES(1,335,1.79494433675166440008e+09,'{"ask":[[93,"fast"]],"preference":2}');
INSERT INTO "events" VALUES(1,336,1.79494433676881623264e+09,'{"tell":93,"reward":16.75}');
INSERT INTO "events" VALUES(1,337,1.79494433679118967051e+09,'{"ask":[[94,"fast"]]}');
INSERT INTO "events" VALUES(1,338,1.79494433680484294889e+09,'{"tell":94,"reward":16.8125}');
INSERT INTO "events" VALUES(1,339,1.79494433683190321923e+09,'{"ask":[[95,"slow"]],"preference":1}');
INSERT INTO "events" VALUES(1,340,1.7949443368478059769e+09,'{"tell":95,"reward":46.875}');
INSERT INTO "events" VALUES(1,341,1.79494433686530423166e+09,'{"ask":[[96,"fast"]],"preference":2}');
INSERT INTO "events" VALUES(1,342,1.79494433689021563533e+09,'{"tell":96,"reward":16.9375}');
INSERT INTO "events" VALUES(1,343,1.79494433690393519406e+09,'{"ask":[[97,"fast"]]}');
INSERT INTO "events" VALUES(1,344,1.79494433692777466773e+09,'{"tell":97,"reward":17.0}');
INSERT INTO "events" VALUES(1,345,1.79494433694109463686e+09,'{"ask":[[98,"slow"]],"preference":1}');
INSERT INTO "events" VALUES(1,346,1.79494433695516490941e+09,'{"tell":98,"reward":47.0625}');
INSERT INTO "events" VALUES(1,347,1.79494433695760941503e+09,'{"ask":[[99,"fast"]],"preference":2}');
INSERT INTO "events" VALUES(1,348,1.79494433697486019136e+09,'{"tell":99,"reward":17.125}');
INSERT INTO "events" VALUES(1,349,1.79494433700158381459e+09,'{"ask":[[100,"fast"]]}');
INSERT INTO "events" VALUES(1,350,1.7949443370085651874e+09,'{"tell":100,"reward":17.1875}');
INSERT INTO "events" VALUES(1,351,1.79494433702125644677e+09,'{"ask":[[101,"slow"]],"preference":1}');
INSERT INTO "events" VALUES(1,352,1.79494433703025770181e+09,'{"ask":[[102,"fast"]],"preference":2}');
INSERT INTO "events" VALUES(1,353,1.79494433704129362108e+09,'{"tell":102,"reward":17.3125}');
INSERT INTO "events" VALUES(1,354,1794944337.04401,'{"ask":[[103,"fast"]]}');
INSERT INTO "events" VALUES(1,355,1.79494433704893517492e+09,'{"tell":103,"reward":17.375}');
INSERT INTO "events" VALUES(1,356,1.79494433705299854271e+09,'{"ask":[[104,"slow"]],"preference":1}');
INSERT INTO "events" VALUES(1,357,1.79494433705688834191e+09,'{"tell":104,"reward":47.4375}');
INSERT INTO "events" VALUES(1,358,1794944337.05894,'{"ask":[[105,"fast"]],"preference":2}');
INSERT INTO "events" VALUES(1,359,1.79494433706162762639e+09,'{"tell":105,"reward":17.5}');
INSERT INTO "events" VALUES(1,360,1.7949443370637006759e+09,'{"ask":[[106,"fast"]]}');
INSERT INTO "events" VALUES(1,361,1.79494433706577157967e+09,'{"tell":106,"reward":17.5625}');
INSERT INTO "events" VALUES(1,362,1.79494433706779265408e+09,'{"ask":[[107,"slow"]],"preference":1}');
INSERT INTO "events" VALUES(1,363,1.7949443370700047016e+09,'{"tell":107,"reward":47.625}');
INSERT INTO "events" VALUES(1,364,1.79494433707259202007e+09,'{"ask":[[108,"fast"]],"preference":2}');
INSERT INTO "events" VALUES(1,365,1.7949443370748956203e+09,'{"tell":108,"reward":17.6875}');
INSERT INTO "events" VALUES(1,366,1.79494433707690906527e+09,'{"ask":[[109,"fast"]]}');
INSERT INTO "events" VALUES(1,367,1.79494433707886981961e+09,'{"tell":109,"reward":17.75}');
INSERT INTO "events" VALUES(1,368,1794944337.0811,'{"ask":[[110,"slow"]],"preference":1}');
INSERT INTO "events" VALUES(1,369,1.79494433708338642125e+09,'{"tell":110,"reward":47.8125}');
INSERT INTO "events" VALUES(1,370,1.79494433708531141279e+09,'{"ask":[[111,"fast"]],"preference":2}');
INSERT INTO "events" VALUES(1,371,1.79494433708779883383e+09,'{"ask":[[112,"fast"]]}');
INSERT INTO "events" VALUES(1,372,1.79494433708977699278e+09,'{"tell":112,"reward":17.9375}');
INSERT INTO "events" VALUES(1,373,1.79494433709655618666e+09,'{"ask":[[113,"slow"]],"preference":1}');
INSERT INTO "events" VALUES(1,374,1.79494433710102725028e+09,'{"tell":113,"reward":48.0}');
INSERT INTO "events" VALUES(1,375,1.79494433710498762137e+09,'{"ask":[[114,"fast"]],"preference":2}');
INSERT INTO "events" VALUES(1,376,1.79494433710756301882e+09,'{"tell":114,"reward":18.0625}');
INSERT INTO "events" VALUES(1,377,1.79494433710960721965e+09,'{"ask":[[115,"fast"]]}');
INSERT INTO "events" VALUES(1,378,1.79494433711163067822e+09,'{"tell":115,"reward":18.125}');
INSERT INTO "events" VALUES(1,379,1.79494433711364078523e+09,'{"ask":[[116,"slow"]],"preference":1}');
INSERT INTO "events" VALUES(1,380,1.79494433711623120305e+09,'{"tell":116,"reward":48.1875}');
INSERT INTO "events" VALUES(1,381,1.7949443371314697266e+09,'{"ask":[[117,"fast"]],"preference":2}');
INSERT INTO "events" VALUES(1,382,1.79494433713434481617e+09,'{"tell":117,"reward":18.25}');
INSERT INTO "events" VALUES(1,383,1.79494433713645386695e+09,'{"ask":[[118,"fast"]]}');
INSERT INTO "events" VALUES(1,384,1.79494433713839340212e+09,'{"tell":118,"reward":18.3125}');
INSERT INTO "events" VALUES(1,385,1.79494433714082145692e+09,'{"ask":[[119,"slow"]],"preference":1}');
INSERT INTO "events" VALUES(1,386,1.79494433714512419703e+09,'{"tell":119,"reward":48.375}');
INSERT INTO "events" VALUES(1,387,1.79494433714898300171e+09,'{"ask":[[120,"fast"]],"preference":2}');
INSERT INTO "events" VALUES(1,388,1.79494433715449690823e+09,'{"tell":120,"reward":18.4375}');
INSERT INTO "events" VALUES(1,389,1.79494433730417108537e+09,'{"laid out":true}');
CREATE TABLE experiments (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	state TEXT NOT NULL, 
	settings TEXT NOT NULL, 
	created_at DOUBLE NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (name)
);
INSERT INTO "experiments" VALUES(1,'to-work','running','{"policy":{"type":"NPTS"},"arms":["slow","fast"],"preference":{"name":"expected_value","costs":true},"rewards":{"type":"Bounded","low":0.0,"high":60.0},"terms":null,"features":null,"expires_after":86400.0,"propensity_draws":0,"apprentice":false,"seed":1,"unit":"minutes"}',1.79494433455561733245e+09);
CREATE TABLE imports (
	experiment INTEGER NOT NULL, 
	"key" TEXT NOT NULL, 
	outcomes INTEGER NOT NULL, 
	at DOUBLE NOT NULL, 
	PRIMARY KEY (experiment, "key"), 
	FOREIGN KEY(experiment) REFERENCES experiments (id)
);
CREATE TABLE interviews (
	id TEXT NOT NULL, 
	person TEXT NOT NULL, 
	settings TEXT NOT NULL, 
	events TEXT NOT NULL, 
	changed_at DOUBLE NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE keys (
	id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	scopes TEXT NOT NULL, 
	created_at DOUBLE NOT NULL, 
	revoked_at DOUBLE, 
	PRIMARY KEY (id)
);
INSERT INTO "keys" VALUES('a3feb2da8b1f','test','dbf8979262ae1d0b478b31831212799eb77c80553d90f4bf865d95689071b768','read decide manage',1794944332.59559,NULL);
CREATE TABLE moments (
	id INTEGER NOT NULL, 
	experiment INTEGER NOT NULL, 
	outcomes BIGINT NOT NULL, 
	sure TEXT NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(experiment) REFERENCES experiments (id)
);
INSERT INTO "moments" VALUES(1,1,212,'{"slow": [44.007699742268045, 44.55798969072161, 45.113643685567006], "fast": [13.835304418103444, 14.297413793103443, 14.78530441810344]}');
INSERT INTO "moments" VALUES(2,1,248,'{"slow": [44.315838068181776, 44.71420454545446, 45.22171874999995], "fast": [14.19403102517985, 14.571942446043154, 14.967727068345319]}');
CREATE TABLE people (
	name TEXT NOT NULL, 
	preference INTEGER NOT NULL, 
	source TEXT NOT NULL, 
	changed_at DOUBLE NOT NULL, 
	PRIMARY KEY (name), 
	FOREIGN KEY(preference) REFERENCES preferences (id)
);
INSERT INTO "people" VALUES('joe',1,'expected_value',1.79494433491337609292e+09);
INSERT INTO "people" VALUES('ann',2,'tversky_kahneman',1.79494433493265461918e+09);
CREATE TABLE preferences (
	id INTEGER NOT NULL, 
	digest TEXT NOT NULL, 
	document TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (digest)
);
INSERT INTO "preferences" VALUES(1,'9bf942ba5f8ad0a68848f80859b5a27cdbd5aaeb39414e54b705ff45c6be7e7d','{"costs": false, "gains": {"type": "Identity"}, "losses": {"type": "Identity"}, "reference": 0.0, "type": "Preference", "utility": null}');
INSERT INTO "preferences" VALUES(2,'25a92d992dc494b328969153acf456b0c914fdcc3f47e77d9191470ede1e4e13','{"costs": true, "gains": {"eta": 0.61, "type": "TverskyKahneman"}, "losses": {"eta": 0.69, "type": "TverskyKahneman"}, "reference": 30.0, "type": "Preference", "utility": {"alpha": 0.88, "loss_aversion": 2.25, "type": "PowerUtility"}}');
CREATE TABLE snapshots (
	experiment INTEGER NOT NULL, 
	seq BIGINT NOT NULL, 
	at DOUBLE NOT NULL, 
	document BLOB NOT NULL, 
	PRIMARY KEY (experiment, seq), 
	FOREIGN KEY(experiment) REFERENCES experiments (id)
);
INSERT INTO "snapshots" VALUES(1,0,1.79494433455561733245e+09,X'7801ED564D8BDB3014FC2B45675364CB963F8EEDA1F45216DA5B5816D97A4E44647991E4DD0D21FFBD236F9A0D949E164AA1218E919E9E46A3B1D0BC231B673FA9C83AA6AC55267CB0A4BC23CF32F6443E98D9B14E64EC71B66638B0EEC8E2E19190FDEDEEC777E43C7A1AC9931B10BB8CDDBD0533B655C685ABC1AF9A5C34F1C04E19B37308F4A7C1251A9BF23AB7589BB137CC8E7FE4191BE6103135FA8580E4D474C5CAD3B3F2FA1AF8D3BC384D1A8CEDFCCC5E117666BB639D041A00269A667F5E0C5D7A51034419950D9431E527806D8EBF960909049B0731C4416622059D565E0192287DEECC4B1CE6296D71739FB1912C30536B009DC47E6DD38AB241FBB7E7FE945D161D55887F6951300C51C5F59BAAB0876EDD86671C61A8629E10DF24DDB3F442309A614F696710008C99F66644F7C8021164394F25BD5D85482ADDFE370D6E67E0BF3C03B82F2EB71F04F8577EA0F54CCA463842BAC6DE7343016A52AFC6F65EA8F7D0B8CD851BC1B1ECD9BDCF472D19146C19FEE6B4715B7C6E24397A8161E5C9BA14CA83D78A634BA883549C7DB2B2DEC487AB00BBFBFC4596B0E38B4F9E1B05AF1B212A51D479CEAB5CB64D2D9AAAA965294555C9A2CCCB86B765C68C1BB0625B162D2F9AB6AC5B21CB3A2FF286F346542D32F116423665294079A7C2C3625C14C55A70A4266D51A675A978197634ECC332A52A8EA46CEA42A789946BDE0CF5C8C7AA6AFB91AA51E8BEEAB9D675D16A5954BDD45215A8E0743FD4455E35A267A79FE137512F');
INSERT INTO "snapshots" VALUES(1,389,1.79494433730417108537e+09,X'7801CD594B8FDBC811FE2B81CE1C81DD64F331C7E410E41218486E0363C191A8B1608DC69034EB350CFFF77C8FA26676925D3B8720EB078B55647D55D55D5DD54D7D5DED9E4E8FD36575BB9A0E87697FFED3619E4EC7F9B4AA563FCFA7F3FEE9B8BA6DAAD5A7A7C37EF36575FB7575F9F269C6DB7F7FF7CF7FE09D4FA779379FE6E306B2EBB3772FC26AF530ED8FE7570FFFB69D8F97FDE5CBEA5BB53A3C9DCFF36F3D7CBEEC0F7CEFF6F87C3854AB17CCDB7A5D57ABCDD3F902D5CBE97906D2717A7CE5D569FE3C9DB6AF81FFFCF47CDCCE5B787C78FABC32C287FDC387D56D0734003CCE8F4FA7300676FE65DA605076D3E13C57ABE9F408B0BBAF8B993341103C1C833CA58EFA13464A9E9D3128D33698A7E7CBE6E99141DEB5E37AE84B05E26B97C5E8D258644932A9AB76B0C6208D612D8D610D8D612D8D61CD5787751230A85968F6D60491AC17426F849E08FDBA15446FA45E48BD11FA752D53A055DB19A91342B7EE640A94A63A2275460091A94E489D913A2294F52853C5484548C508655D8404CA17E33D6297880AD42C905A238048D60AA935524B8436A26A8DD4CA97D6086D44055AB58D911A21341115284D35446A8C0022538D901A233544C811553652165236428EA840F9A2A2CA42C81115284D6522252380489684948C94889022AA64A424A46484145181566D6DA45A08B5116A22D4D6ACA5595B13C9FABE5AEDE60312FDEE26B29314B948C2B120F59531900B213D255BE3EA2C25D53BCE53B27CC5994A2A8DC855F2861804E174BD61DA5AAC84256F2F98B2E494B3BCB13BCA5AB28B92F29602FAE5CC25955F91BBE40DCAEC2567ACC85F0AE4A933982CB1228779C305401AC45891C794FBA9418BB12297F9D49E16813A9D6F98D6162BA1C91B94294D2EA276525320079DD664236A26F64D6436A91C8CDC266F506637393B18F94D81409DE164891539CE1B47AD2C276BACC8730A08EA4C271556E43A7987C76CBF897417B558094FDEA04C797211B5939E02813AEDC946D44CFC9BC87C5245EDDC274B2C673FA9209CFF64B90036680DEC2477A9FACF7F73C8DFD2E5EDB7F2B7FCFFFABD053F28439AD598EEEEDE57FFF6EFFDB7EADAC776D3F9F2AA8F95FC437D2CB98F8160A871E5AC81E8C2A4C2BD259C5D3075955C2140F8D8F50144F79A6530D20491928A0584C168A6C102A977D505654282F8AAAE044EBEA0582C946F08194460AA1810AA6392D247968BD405B2AB0658AD49505A70C90031322B0718FBEE02029650A81A72CCD503AC7D6711492E1D24B2AA0A02CEBEBB1F8205480964F743B0F65DC5045C681B999524B5E1BB0B0A58FA8C2A22575C4DC0DA771615301A151081A9A24068DF5D58C002B90964F74BB0F65DC5059CC6191565A154F0A8B8C080E5A8A0AAC8155717B0F69D4526B9B490C815551870F6DD85062C407220BBCA80B5EF2A36E042DBC8AC342985EFEEAF60392AA83272C5D506AC7D67D101A3510111982A0E84F6DD85072C90DD674188E85A03A27B21A8D04022985FF7592C08DABF010DC2B123EB2BF5C98590086451E3B000ACE93E0BD69AEAB3E05C2F716388584B541346345CB01A22CA091A0B8A374677E705AB71A2DC666255514097A20593DA47F762F01A2EBEB0C8692656176F6C26D617058A389A32584D08E534138B8C370ECBDD196C9889360D4184A57E8D556233B1D86E209099586EE41D96FA35B8183D2F393E8EB0DCC1C13B1A2CB7458F61C5C2E38DEDB983838DD18B560E4184A59E0ED6D1C402A4BE2629962079DB534FC782D10EFA06373613EB90028515CD1D6C985197071B6145BB874066623D52DD66624552C0B0A2DD93FAB9FB3EF8082B36001070926265F2C661C5DAA440F662030036464F3B01ACA508CB2BF4060245136B94BC073B562905B4175B0252BBE7BD01F8488AD82440C068BC5A49851E7B032D580AEDB2F706608DF8837B03F7DC5C2D3D3F5DEF5E64AFEF965EFD22FB23692CDEA5EFEE21F0C2F9325D74EA9FCE1F71B2C6FE29A33276DC52E1ECBCFF19CFEE783AAF7881F0B2DF7C9C79D4E0D07EAB56DBD37E07F6EBEA3CCF383ADFF1189D4AC69BF3F6C10766BCC9A30B67C47B375C395B20BA3039706F0917067785BC486339264983898307D2580E58D26026C606D5FB565CA5C1D4C6BD3496C39D34B844B03F968DE558280DAE393C90C672B094061731B6E9D2588EA4D26031C003692C875969B0ABC761018461BA3081E85E1ACB415A1A2C7B38ABC8C67204970DD6513C90C6728897864EF7AED23830D1866B3A88EEA5B17C3890063B461CDC7C9EC35536E29B8434968F15D260E3C229515EA9A7819106DB1DEEA5B17C1091066650C265F654C030732A44980FE0C5B9E2D544496399247F6CB84E904A04A745F02EA0CB99099471BF7C3510501CC730D6301647370EBC1E2E836E2BD701B79565AC65CA9D8E675129BE7C7009D6112D632A150F27D3FEBFF98FA2F5B227B9EE6108C882CCB10725B76CC6E840741810C58506273741F12C76AA8E009D5C58B1898FDD7F6C98AC7CDD4C69905176696DB94AF9BA07D3B8B111D0299BBCEEDDC2553BBC38CE74C1ABCA035031BA288AEB06D1961DE7CB5E52B6B5CD5C2ED27272B0FBC50B34B98C8E0C5EB7AFB6CBA58D171CED75DB1B581E5A5FBD89759641C1D16A271D17C5186DDE5D1F57C7EA4D015962B1365C2F31630B91D7CB2E3F9820B6C8D47D35A5327A3D3830D8E52C61CB2E2E103ADAC801BD2693D7C389477939B938D848966BCEB00B68C583D0D4F57CA47BE12D872AF9ACD3D7F524460DD72110DD4B6339E849836B06DB5745B51C15356671A694C672D894864EA1AE43DE5BE32A8D38B74A6339D042035DE8FA5D008BF1FFF47780DD44E3DDE200FCFA3C4F870B3E5CB38F7EAF4CD4759F5253EAD2F7290F25E7BEC29E2B97DCF54D93525D72DF5605ADA3ED723724BDD58D44ADDBA1496D5BBA548FDD3034A5C26A1D5AFC4943694A29A9EB211A0740B563EABB36F5A9057AD7754DC12BB037E4BA81A44E4D3F94A1EFEAB68C3D1BFCE3E4EFFE3F12C2F742FC833DEF4A9B4BC1C268D2388EB9E118B52D86B36F9BBA19BB26F515D65EC638E606CFC794C7B6426D187293EB2175056AA583A4CDB9EE862E35CD58808581C4348CB9EE311FBF13F458D7F5D0B7B91FFA06564A859D489DDB52FA04DCBEEF87A6429BAAEBAEC79CF40D26B21E61AE2F090A759FF152821A9A20FC1E87BA45BE400F7BC3F54824AC0E4CAE0AE76F67E0D8B7755F0A92656C906B195E2058845A20AFC7D4D289A14FB008B37593BA060B9FA7A9AEEB918BA52D43D37318C6AECE4C1BA413B299F984612DA9747569877A2C40FA1D37C6A62D18B03E0F58073DBD18103812B66D989D095EE0691932C6268D7D1A687168EB6184C16EC42A905718D4D4E5012F75638BB5402758FC46F85AFA867AE104B27B3AC4EF455136B8D9C5CF40D82F1FB7FBE30356AE3E3552813F6DE11B5D4A5CDF2F7CE646FC150F3F7FC5B76FDE2F6F9E776F784CDEAFF08737CFC7377CAADF282478F8CA0304799C7FC1E61D79C08DFC849FD4FC2BDDC38CDF0EA7CBD3891BFBFBFDE5A75782D5BBBFFCB56BF1BDF17A72889B8CA46BF358A34C744811A40CEAD5905BA44619EB549A6E448EE0E3E4FEB881CD91EF6232DA1ED9D2A2B02564062AD4D865CCCDD8341D32B7C1A07F98CE3F3DEF8F9726E3C7B86AC5DBF9013F6DDEF207BFCD8779F3F1FCFC88DF323739DFCFDBED669EB7C3B09B9BCD340DE3AEDFEDCA3D9E947C3F4EF79B36215DEEB7BBCD6E9CC6A999B6C36677DF95FB691856DFFE05257C2906');
CREATE UNIQUE INDEX decisions_by_key ON decisions (experiment, "key") WHERE key IS NOT NULL;
CREATE INDEX decisions_that_are_open ON decisions (experiment, number) WHERE state = 'open';
CREATE INDEX moments_of_experiment ON moments (experiment);
COMMIT;
